"""The folders of a snapshot: all of them and no other, with the newest change and an id of what is below."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gristmill.hub.server.snapshots import Entry, make_snapshot
from gristmill.hub.server.walk import Found, Stamp

NAMES = st.sampled_from(["a", "a-", "a0", "b", "é"])
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
FILES = st.dictionaries(
    PATHS, st.tuples(st.sampled_from(["1" * 40, "2" * 40]), st.integers(0, 5)), max_size=12
)


def snapshot(files):
    entries = [
        Entry(path, 1, blob, None, Found(path, Path(path), Stamp(0, 0, 1, time * 10**9, 0)))
        for path, (blob, time) in files.items()
        if not any(other.startswith(f"{path}/") for other in files)
    ]
    return make_snapshot("tree", entries)


def below(shot, folder):
    return {path: e for path, e in shot.entries.items() if path.startswith(f"{folder}/")}


@given(FILES, FILES)
def test_folders(first, second):
    shots = snapshot(first), snapshot(second)
    for shot in shots:
        wanted = {
            "/".join(path.split("/")[:n]) for path in shot.entries for n in range(1, path.count("/") + 1)
        }
        assert list(shot.folders) == sorted(wanted)
        for path, folder in shot.folders.items():
            assert folder.path == path
            assert folder.modified == max(e.modified for e in below(shot, path).values())
        assert shot.names == sorted([*shot.entries, *wanted])
    for path in shots[0].folders.keys() & shots[1].folders.keys():
        blobs = [{name: e.blob_id for name, e in below(shot, path).items()} for shot in shots]
        assert (shots[0].folders[path].oid == shots[1].folders[path].oid) == (blobs[0] == blobs[1])


def test_many_files_far_down():
    deep = "/".join("d" * 400)
    shot = snapshot({f"{deep}/{number}": ("1" * 40, number) for number in range(3000)})
    assert len(shot.folders) == 400
    assert shot.folders["d"].modified == 2999
