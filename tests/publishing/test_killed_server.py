"""The server is killed while somebody pushes: after a restart all or nothing is there, and little is sent again."""

import contextlib
import hashlib
import http.client
import socket
import threading
import urllib.request

import pytest

from gristmill import Dataset, config, load_dataset
from gristmill.errors import HubError
from tests.hub.server.conftest import Writer
from tests.hub.server.test_xet import Xet, shard, xorb
from tests.processes import Forks
from tests.publishing.conftest import REPO, Repo
from tests.publishing.proxy import Proxy

pytestmark = pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning")
PROGRAM = """
    import gristmill.hub.server.run, gristmill.hub.server.app
    from gristmill.hub import server
    def run(folder, port):
        server.serve(folder, port=int(port), allow_write=True)
"""


class Mortal:
    """A server that can be killed and started again, at the same address."""

    def __init__(self, forks, folder):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._forks = forks
        self._folder = folder
        self._lock = threading.Lock()
        self._pid = None

    def start(self):
        self._pid = self._forks.start(self._folder, self.port)
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.url}/health", timeout=5).close()
                return
            threading.Event().wait(0.02)
        pytest.fail("the server did not start")

    def kill(self):
        with self._lock:
            if self._pid is not None:
                assert self._forks.kill(self._pid) == -9
                self._pid = None


@pytest.fixture(scope="module")
def forks():
    with Forks(PROGRAM) as made:
        yield made


@pytest.fixture
def mortal(forks, folder):
    made = Mortal(forks, folder)
    made.start()
    yield made
    made.kill()


def stored(folder):
    """The large contents that the server has, by their hash; each is compared with it."""
    found = set()
    for path in folder.glob("datasets/*/*/.gristmill/objects/*/*"):
        content = path.read_bytes()
        if len(path.name) == 64:
            assert hashlib.sha256(content).hexdigest() == path.name
            found.add(path.name)
    return found


def numbers(count, start=0):
    return Dataset.from_dict({"id": list(range(start, start + count))})


@pytest.mark.parametrize("delay", [0.0, 0.01])
@pytest.mark.parametrize(
    ("method", "text", "number"), [("PUT", "/", 3), ("PUT", "/", 1), ("POST", "/commit/", 1)]
)
def test_in_the_middle_of_a_push(
    plain, mortal, folder, caches, tmp_path, no_waiting, method, text, number, delay
):
    repo = Repo(mortal.url, tmp_path / "looked")
    settings = {"HF_HUB_OFFLINE": False, "HF_DATASETS_OFFLINE": False, **caches}
    with Proxy(mortal.url) as proxy, config.override(HF_ENDPOINT=proxy.url, **settings):
        numbers(10).push_to_hub(REPO)
        before, sent = stored(folder), len(proxy.requests("PUT"))

        def die(seen):
            killer = threading.Thread(target=lambda: (threading.Event().wait(delay), mortal.kill()))
            killer.start()
            if not delay:
                killer.join()

        proxy.script(method, text, *[lambda seen: None] * (number - 1), die)
        with contextlib.suppress(HubError, http.client.HTTPException):
            numbers(6000, 7).push_to_hub(REPO, num_shards=6)
        proxy.scripts.clear()
        mortal.kill()
        there = stored(folder) - before
        mortal.start()
        rows = load_dataset(REPO, split="train", revision=repo.pin().commit)["id"][:]
        assert rows in (list(range(10)), list(range(7, 6007)))
        again = len(proxy.requests("PUT"))
        assert again > sent
        numbers(6000, 7).push_to_hub(REPO, num_shards=6)
        # What had arrived is not sent again.
        assert len(proxy.requests("PUT")) - again == 6 - len(there)
        assert load_dataset(REPO, split="train", revision=repo.pin().commit)["id"][:] == list(range(7, 6007))


@pytest.mark.parametrize("delay", [0.0, 0.01])
@pytest.mark.parametrize("step", ["xorb", "shard", "commit"])
def test_in_the_middle_of_a_xet_upload(mortal, folder, step, delay):
    writer = Writer(mortal.url)
    assert writer.create(REPO).status == 200
    chunks = [bytes([n % 256]) * 100_000 for n in range(200)]
    whole = b"".join(chunks)
    sha256 = hashlib.sha256(whole).hexdigest()
    address = "a" * 64

    def upload(die_at=None):
        xet = Xet(writer)
        operation = ("lfsFile", {"path": "x.bin", "algo": "sha256", "oid": sha256, "size": len(whole)})
        steps = {
            "xorb": lambda: xet.xorb(address, xorb(chunks, (0,) * len(chunks))),
            "shard": lambda: xet.shard(shard([(sha256, [(address, 0, len(chunks), len(whole))])])),
            "commit": lambda: writer.commit(operation),
        }
        for name, ask in steps.items():
            if name == die_at:
                killer = threading.Thread(target=lambda: (threading.Event().wait(delay), mortal.kill()))
                killer.start()
                with contextlib.suppress(OSError, http.client.HTTPException):
                    ask()
                killer.join()
                return
            assert ask().status == 200

    upload(step)
    mortal.kill()
    stored(folder)
    mortal.start()
    shown = writer.get(f"/datasets/{REPO}/resolve/main/x.bin")
    assert (shown.status, shown.body if shown.status == 200 else whole) in ((200, whole), (404, whole))
    upload()
    assert writer.get(f"/datasets/{REPO}/resolve/main/x.bin").body == whole
    assert stored(folder) == {sha256}
