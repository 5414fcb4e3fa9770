"""The error tree: complete, drawn as it is, builtins where users would catch one, messages that help."""

import builtins
import errno
import inspect
import os
import pickle
import re
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gristmill import errors
from gristmill.errors import (
    CastError,
    ColumnNotFoundError,
    DatasetNotFoundError,
    DiskFullError,
    FileError,
    GristmillError,
    HubError,
    InvalidArgumentError,
    MissingDependencyError,
    NotThereYetError,
    RecordError,
    RowIndexError,
    SchemaConflictError,
    TransformError,
    place,
    shorten,
    suggest,
)

CLASSES = [c for c in vars(errors).values() if inspect.isclass(c) and issubclass(c, Exception)]


def drawn_tree() -> dict[str, str]:
    """Reads class -> parent from the drawing in the module's docstring."""
    parents: dict[str, str] = {}
    trail = ["GristmillError"]
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^((?:│   |    )*)(?:├── |└── )(\w+)", line.removeprefix("    "))
        if match:
            depth = len(match[1]) // 4 + 1
            parents[match[2]] = trail[depth - 1]
            trail[depth:] = [match[2]]
    return parents


def test_the_drawing_is_the_tree():
    real = {
        c.__name__: next(b.__name__ for b in c.__bases__ if issubclass(b, GristmillError))
        for c in CLASSES
        if c is not GristmillError
    }
    assert drawn_tree() == real


def test_the_drawing_names_the_builtin_bases():
    for line in (errors.__doc__ or "").splitlines():
        match = re.search(r"── (\w+) \(([\w, ]+)\)", line)
        if match:
            bases = {b.__name__ for b in getattr(errors, match[1]).__bases__}
            assert set(match[2].split(", ")) <= bases


def test_all_is_sorted_and_complete():
    assert errors.__all__ == sorted(errors.__all__)
    assert {c.__name__ for c in CLASSES} <= set(errors.__all__)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_every_error_shows_its_message_and_survives_pickling(cls):
    error = cls("what went wrong")
    assert str(error) == "what went wrong"
    assert cls.__doc__
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    assert str(again) == "what went wrong"


def test_messages_name_place_and_remedy():
    error = SchemaConflictError.from_types("a.b", "int64", "string", file="x.json", row=7)
    assert str(error).startswith('x.json, row 7, column "a.b": the type changes from int64 to string.')
    assert "Json()" in str(error)
    assert isinstance(error, ValueError)
    assert isinstance(error, TypeError)
    assert str(CastError.at("no.", line=3)) == "line 3: no."
    assert str(ColumnNotFoundError.from_name("txet", ["text", "label"])) == (
        'There is no column "txet". Did you mean "text"? There are: label, text.'
    )
    assert "rows go from 0 to 2" in str(RowIndexError.from_index(5, 3))
    assert "empty" in str(RowIndexError.from_index(0, 0))
    assert 'pip install "gristmill[server]"' in str(
        MissingDependencyError.from_feature("x", "uvicorn", "server")
    )
    assert RecordError.from_rule("one_option", "one option").kind == "one_option"
    assert "expected a number" in str(InvalidArgumentError.from_value("cap", -1, "a number above 0"))
    tried = str(DatasetNotFoundError.from_attempts("x", [("folder", "no such folder"), ("Hub", "404")]))
    assert tried.index("folder") < tried.index("404")


def test_errors_of_the_system_keep_their_reason():
    error = FileError.from_os_error("read", "a.txt", OSError(13, "Permission denied"))
    assert str(error) == "Could not read a.txt: Permission denied. You may not read it: ask its owner."
    assert isinstance(error, OSError)
    assert str(FileError.from_os_error("read", "a.txt", OSError(5, "Input/output error"))) == (
        "Could not read a.txt: Input/output error."
    )


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EROFS, "can't be written there. If it belongs to the cache, set HF_HOME or HF_DATASETS_CACHE"),
        (
            errno.EACCES,
            "can't be written there. If it belongs to the cache, set HF_HOME or HF_DATASETS_CACHE",
        ),
        (
            errno.EMFILE,
            "too many files open: close some, use fewer workers (num_proc=), or raise the limit (ulimit -n)",
        ),
        (errno.ENFILE, "The system has too many files open"),
        (errno.ENAMETOOLONG, "names of up to 255 bytes and paths of up to 4,095: use a shorter folder"),
    ],
)
def test_errors_of_the_system_say_what_to_do(number, said):
    error = FileError.from_os_error("lock", "a.lock", OSError(number, os.strerror(number)))
    assert type(error) is FileError
    assert str(error).startswith(f"Could not lock a.lock: {os.strerror(number)}. ")
    assert said in str(error)


def test_a_full_disk_says_where_and_how_much_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1_200_000, path=path))
    full = OSError(errno.ENOSPC, "No space left on device")
    for action in ("lock", "write", "make the folder"):
        error = FileError.from_os_error(action, tmp_path / "new" / "a.lock", full)
        assert type(error) is DiskFullError
        assert str(error).startswith(
            f"No room left on the disk: could not {action} {tmp_path}/new/a.lock (1.2 MB are free at {tmp_path}). "
        )
        assert "HF_DATASETS_CACHE (or pass cache_dir=) to a folder on a larger disk" in str(error)
    # What only looks like a path is on no disk.
    assert "MB" not in str(FileError.from_os_error("write", "a.csv of the archive b.zip", full))
    quota = FileError.from_os_error("write", tmp_path / "a", OSError(errno.EDQUOT, "Disk quota exceeded"))
    assert type(quota) is DiskFullError
    assert str(quota).startswith(
        f"Your quota is used up: could not write {tmp_path}/a. Free some space there"
    )


def test_hub_errors_carry_url_and_status():
    error = HubError.at_url("No answer", "http://x/y", 503, "Try again later.")
    assert (error.url, error.status) == ("http://x/y", 503)
    assert str(error) == "No answer (HTTP 503): http://x/y. Try again later."


def test_not_there_yet_answers_hasattr_with_no():
    assert issubclass(NotThereYetError, AttributeError)
    assert "Dataset.sort" in str(NotThereYetError.from_name("Dataset.sort"))


class Custom(Exception):
    def __init__(self, code: int, *, hint: str) -> None:
        super().__init__(f"code {code}")
        self.code = code
        self.hint = hint


@pytest.mark.parametrize("cause", [StopIteration(3), StopAsyncIteration()])
def test_a_failed_function_ends_no_loop_it_is_called_in(cause):
    error = TransformError.from_rows("f", 3, 3, str(cause)).also(cause)
    assert not isinstance(error, type(cause))


@pytest.mark.parametrize(
    "cause",
    [
        ZeroDivisionError("x"),
        KeyError("k"),
        FileNotFoundError(2, "no", "f"),
        UnicodeDecodeError("utf-8", b"a", 0, 1, "bad"),
        Custom(7, hint="h"),
        ColumnNotFoundError.from_name("a", ["b"]),
        ImportError("m", name="n"),
        MemoryError(),
    ],
    ids=lambda cause: type(cause).__name__,
)
def test_a_failed_function_is_caught_by_its_own_class_too(cause):
    error = TransformError.from_rows("f", 3, 3, str(cause)).also(cause)
    assert isinstance(error, TransformError)
    assert isinstance(error, type(cause))
    assert type(error).__name__ == "TransformError"
    assert str(error) == f"f failed on row 3: {cause}"
    assert vars(error).items() >= vars(cause).items()
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, type(cause))
    assert (str(again), vars(again)) == (str(error), vars(error))


def _below(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    yield kind
    for heir in kind.__subclasses__():
        yield from _below(heir)


_ARGUMENTS = {
    "UnicodeDecodeError": ("utf-8", b"a", 0, 1, "bad"),
    "UnicodeEncodeError": ("utf-8", "a", 0, 1, "bad"),
    "UnicodeTranslateError": ("a", 0, 1, "bad"),
    "BaseExceptionGroup": ("m", [ValueError("x")]),
    "ExceptionGroup": ("m", [ValueError("x")]),
}


@pytest.mark.parametrize(
    "kind",
    sorted(
        {kind for kind in _below(Exception) if kind.__module__ == "builtins"},
        key=str,
    ),
)
def test_every_exception_of_python_but_the_ends_of_iterators_can_be_both(kind):
    cause = kind(*_ARGUMENTS.get(kind.__name__, ("why",)))
    error = TransformError.from_rows("f", 3, 3, "why").also(cause)
    assert isinstance(error, kind) == (kind not in (StopIteration, StopAsyncIteration))
    assert (str(error), error.first_row) == ("f failed on row 3: why", 3)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.first_row) == (type(error), str(error), 3)


def test_what_python_keeps_outside_the_dict_of_an_exception_is_kept():
    missing: Any = TransformError("f failed").also(FileNotFoundError(2, "no", "a.txt"))
    assert (missing.errno, missing.strerror, missing.filename) == (2, "no", "a.txt")
    assert pickle.loads(pickle.dumps(missing)).filename == "a.txt"
    text: Any = TransformError("f failed").also(UnicodeDecodeError("utf-8", b"abc", 1, 2, "bad"))
    assert (text.object, text.start, text.end, text.reason) == (b"abc", 1, 2, "bad")
    # A closure can't be pickled, and the error can.
    lacking = TransformError("f failed").also(AttributeError("a", name="n", obj=lambda: None))
    assert pickle.loads(pickle.dumps(lacking)).name == "n"
    code: Any = TransformError("f failed").also(SyntaxError("odd", ("a.py", 3, 1, "x x")))
    assert (code.filename, code.lineno, code.msg) == ("a.py", 3, "f failed")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there are no groups of exceptions")
def test_a_group_of_errors_has_its_errors():
    group = builtins.ExceptionGroup("m", [ValueError("x"), KeyError("k")])  # type: ignore[attr-defined]  # of Python 3.11
    error: Any = TransformError("f failed").also(group)
    assert (str(error), error.exceptions) == ("f failed", group.exceptions)
    values, others = error.split(ValueError)
    assert values.exceptions == group.exceptions[:1]
    assert others.exceptions == group.exceptions[1:]


def test_where_no_class_can_be_both_the_error_stays_itself():
    class Sealed(Exception):
        def __init_subclass__(cls) -> None:
            raise TypeError("no heirs")

    error = TransformError("f failed")
    assert error.also(Sealed()) is error
    assert error.also(RuntimeError()) is error


def test_helpers():
    assert shorten("abc") == "'abc'"
    assert len(shorten("a" * 999, 50)) == 50
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert shorten(deep) == "a list"
    assert place() == ""
    assert place(file="f", line=2) == "f, line 2"
    assert suggest("a", []) == "There are none."
    assert suggest("zz", [f"n{i:02}" for i in range(20)]).endswith("and 10 more.")
    # A short name that was written out, a near one, and one of about as many letters.
    assert suggest("seperator", ["lineterminator", "sep"]).startswith('Did you mean "sep"?')
    assert suggest("columns", ["col", "column"]).startswith('Did you mean "column"?')
    assert suggest("formt", ["for", "format"]).startswith('Did you mean "format"?')
