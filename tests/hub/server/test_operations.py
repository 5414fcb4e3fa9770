"""What commits do to a tree: a model in plain Python agrees, and nothing is ever both file and folder."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.hub.server.errors import Refusal
from gristmill.hub.server.hashing import blob_id
from gristmill.hub.server.history import Stored
from gristmill.hub.server.ignore import ignored
from gristmill.hub.server.operations import AddStored, Delete, Operation, apply, parse_line

CONTENTS = {blob_id(b"%d" % number): number for number in range(4)}
PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
OPERATIONS = st.one_of(
    st.builds(lambda path, blob: AddStored(path, None, None, blob), PATHS, st.sampled_from(sorted(CONTENTS))),
    st.builds(Delete, PATHS, st.booleans()),
)


def size_of(id):
    return 1 if id in CONTENTS else None


@settings(max_examples=120)
@given(
    st.one_of(
        st.lists(st.lists(OPERATIONS, max_size=4), max_size=6),
        st.lists(st.lists(OPERATIONS, max_size=20), max_size=3),
    ),
    st.sampled_from([0, 1, 1000]),
)
def test_commits_do_what_they_say_or_nothing(commits, most_new):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gristmill.hub.server.operations._Names._MOST_NEW", most_new)
        check_commits(commits)


def check_commits(commits):
    tree: dict[str, Stored] = {}
    model: dict[str, str] = {}
    for operations in commits:
        wanted, fine = dict(model), True
        for operation in operations:
            if isinstance(operation, AddStored):
                wanted[operation.path] = operation.blob_id
            else:
                gone = [
                    path
                    for path in wanted
                    if (path.startswith(f"{operation.path}/") if operation.folder else path == operation.path)
                ]
                fine = fine and bool(gone)
                for path in gone:
                    del wanted[path]
        folders = {path.rsplit("/", depth)[0] for path in wanted for depth in range(1, path.count("/") + 1)}
        if fine and not folders & set(wanted):
            tree, model = apply(tree, operations, size_of, "0" * 40), wanted
        else:
            with pytest.raises(Refusal):
                apply(tree, operations, size_of, "0" * 40)
        assert {path: stored.blob_id for path, stored in tree.items()} == model
        assert list(tree) == sorted(tree)


def test_many_folders_go_from_a_large_tree():
    blob = next(iter(CONTENTS))
    tree = {f"d{number}/{name}": Stored(1, blob, None) for number in range(20_000) for name in "ab"}
    operations: list[Operation] = [
        Delete(f"d{number}", folder=True) for number in range(20_000) if number % 5
    ]
    # A folder that comes back, and goes again.
    operations += [AddStored("d1/new", None, None, blob), Delete("d1", folder=True)]
    left = apply(tree, operations, size_of, "0" * 40)
    assert left == {path: each for path, each in tree.items() if int(path[1:-2]) % 5 == 0}
    with pytest.raises(Refusal, match="doesn't exist"):
        apply(tree, [*operations, Delete("d1", folder=True)], size_of, "0" * 40)


@given(st.binary(max_size=200))
def test_any_line_is_an_operation_or_refused(line):
    with contextlib.suppress(Refusal):
        parse_line(line)


@pytest.mark.parametrize(
    ("rules", "left_out"),
    [
        ("", set()),
        ("*.txt", {"a.txt", "d/b.txt", "d/e/c.txt"}),
        ("/a.txt", {"a.txt"}),
        ("d/", {"d/b.txt", "d/e/c.txt"}),
        ("e", {"d/e/c.txt"}),
        ("d/*.txt", {"d/b.txt"}),
        ("**/c.txt", {"d/e/c.txt"}),
        ("*.txt\n!b.txt", {"a.txt", "d/e/c.txt"}),
        ("d/\n!d/b.txt", {"d/b.txt", "d/e/c.txt"}),
        ("# a.txt\n\n   \n\\#x", {"#x"}),
        ("a.txt/", set()),
    ],
)
def test_ignored(rules, left_out):
    assert ignored(rules, ["a.txt", "d/b.txt", "d/e/c.txt", "#x", "z"]) == left_out
