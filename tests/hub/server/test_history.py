"""A long history: each page costs what is on it, and an old commit is as near as the newest."""

from urllib.parse import urlsplit

from gristmill.hub.server.history import History
from gristmill.hub.server.snapshots import Commit
from tests.hub.server.conftest import file

API = "/api/datasets/org/new"


def pages(writer, limit):
    target: str | None = f"{API}/commits/main?limit={limit}"
    while target:
        answer = writer.get(target)
        assert answer.status == 200
        yield [each["title"] for each in answer.json]
        link = answer.headers["Link"]
        parts = urlsplit(link.split(">")[0].removeprefix("<")) if link else None
        target = f"{parts.path}?{parts.query}" if parts else None


def test_no_page_walks_through_those_before_it(writer, monkeypatch):
    for number in range(13):
        assert writer.commit(file("a.txt", b"%d" % number), title=f"n{number}").status == 200
    assert writer.get(f"{API}/tree/main").status == 200  # what the head holds is known from here on
    looked = []
    commit = History.commit

    def watched(self: History, name: str) -> Commit:
        looked.append(name)
        return commit(self, name)

    monkeypatch.setattr(History, "commit", watched)
    costs, titles = [], []
    for page in pages(writer, 4):
        titles += page
        costs.append(len(looked))
        looked.clear()
    assert titles == [*(f"n{number}" for number in reversed(range(13))), "initial commit"]
    assert costs == [5, 5, 5, 2]


def test_pages_stay_the_same_while_commits_are_added(writer):
    for number in range(6):
        writer.commit(file("a.txt", b"%d" % number), title=f"n{number}")
    listing = pages(writer, 3)
    assert next(listing) == ["n5", "n4", "n3"]
    writer.commit(file("a.txt", b"new"), title="new")
    assert [*listing] == [["n2", "n1", "n0"], ["initial commit"]]


def test_cursors_that_no_page_gave(writer):
    for cursor in ("x", "-1", "10", "0" * 39, "g" * 40):
        assert writer.get(f"{API}/commits/main?cursor={cursor}").status == 400
    answer = writer.get(f"{API}/commits/main?cursor={'0' * 40}")
    assert (answer.status, "list anew" in answer.json["error"]) == (400, True)


def test_old_commits(writer):
    commits = [writer.commit(file("a.txt", b"%d" % number)).json["commitOid"] for number in range(20)]
    for number in (0, 7, 19):
        for name in (commits[number], commits[number][:9]):
            assert writer.get(f"/datasets/org/new/resolve/{name}/a.txt").body == b"%d" % number
