"""Every error Gristmill raises on purpose, in one tree.

::

    GristmillError
    ├── InvalidArgumentError (ValueError)         an argument, option or environment variable can't be used
    ├── MissingDependencyError (ImportError)      a feature needs a library that is not installed
    ├── NotThereYetError (NotImplementedError, AttributeError)   a documented name whose work is still to come
    ├── DataError (ValueError)                    something in the data is wrong; says where
    │   ├── FileFormatError                       a file is not what its format says
    │   ├── SchemaConflictError (TypeError)       two places disagree on the type of a column
    │   ├── CastError (TypeError)                 a value does not fit the type asked for
    │   ├── RecordError                           a decision record breaks a rule
    │   └── CardError                             the YAML head of a dataset card can't be used
    ├── ColumnNotFoundError (KeyError, ValueError)    no such column; lists those that exist
    ├── RowIndexError (IndexError)                no such row
    ├── SearchIndexError (RuntimeError)           a search index could not be built, stored or asked
    │   └── MissingIndexError (KeyError)          there is no index of this name; lists those that exist
    ├── TransformError (RuntimeError)             a user's function failed or returned the wrong thing
    │   ├── TransformOutputError (ValueError, TypeError)   it returned something that can't become rows
    │   ├── GeneratorError (DatasetGenerationError)        a generator function failed, or yielded such things
    │   └── WorkerDiedError                       a worker process ended without an answer
    ├── FileError (OSError)                       reading or writing on this machine failed
    │   ├── FileMissingError (FileNotFoundError)
    │   ├── DatabaseError                         a database refused or could not be reached
    │   ├── DiskFullError
    │   ├── LockTimeoutError (TimeoutError)
    │   └── UnsafePathError (ValueError)          a path that leaves its folder
    ├── HubError (OSError)                        talking to a Hub failed; carries .url and .status
    │   ├── HubConnectionError (ConnectionError)  no answer, or it broke off, after all attempts
    │   ├── HubResponseError                      an answer that can't be used
    │   │   ├── RateLimitedError                  429 after all attempts
    │   │   ├── RangeIgnoredError                 anything but 206 for a range
    │   │   └── IncompleteBodyError               fewer bytes, or other bytes, than announced
    │   ├── RepoNotFoundError (FileNotFoundError)
    │   ├── RevisionNotFoundError (FileNotFoundError)
    │   │   └── DatasetRevisionNotFoundError (DatasetNotFoundError)   the dataset is there
    │   ├── EntryNotFoundError (FileNotFoundError)
    │   ├── AccessError (PermissionError)         401 and 403
    │   │   ├── GatedRepoError                    access has to be asked for
    │   │   │   └── GatedDatasetError (DatasetAccessError)
    │   │   └── DatasetAccessError (DatasetNotFoundError)      the same, of a dataset to be loaded
    │   └── OfflineError (ConnectionError)        offline mode is on and the thing is not in the cache
    └── DatasetsError                             the names of `datasets.exceptions`
        ├── DatasetNotFoundError (FileNotFoundError)
        │   └── DatasetUnreachableError (ConnectionError)   it may exist; the Hub could not be asked
        ├── DatasetScriptError (RuntimeError)     the dataset is a Python script; scripts are never run
        ├── DataFilesNotFoundError (FileNotFoundError)
        │   └── SplitsNotFoundError (ValueError)
        ├── ConfigNotFoundError (ValueError)
        ├── SplitNotFoundError (ValueError, KeyError)
        ├── DatasetBuildError                     a builder can't prepare its dataset
        │   ├── DatasetGenerationError (RuntimeError)
        │   │   ├── DatasetGenerationCastError
        │   │   └── DuplicatedKeysError           a builder gave two examples the same key
        │   └── ManualDownloadError               files have to be fetched by hand first; says how
        ├── InvalidConfigName (ValueError)        a config's name can't be a folder's name
        ├── ChecksumVerificationError             what was downloaded is not what was expected
        │   ├── ExpectedMoreDownloadedFilesError
        │   ├── UnexpectedDownloadedFileError
        │   └── NonMatchingChecksumError
        └── SplitsVerificationError               the splits prepared are not those expected
            ├── ExpectedMoreSplitsError
            ├── UnexpectedSplitsError
            └── NonMatchingSplitsSizesError

A class is also a builtin where users would catch one. Messages are worded by the classmethods here, so that the
same thing is said the same way everywhere: what went wrong, where (file, row, column, URL), what to do.
Errors of pyarrow, HTTP and the file system are turned into these at the border (`raise ... from error` keeps the
cause): see `gristmill.files.borders`.
"""

from __future__ import annotations

import builtins
import contextlib
import difflib
import errno
import functools
import os
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = [
    "AccessError",
    "CardError",
    "CastError",
    "ChecksumVerificationError",
    "ColumnNotFoundError",
    "ConfigNotFoundError",
    "DataError",
    "DataFilesNotFoundError",
    "DatabaseError",
    "DatasetAccessError",
    "DatasetBuildError",
    "DatasetGenerationCastError",
    "DatasetGenerationError",
    "DatasetNotFoundError",
    "DatasetRevisionNotFoundError",
    "DatasetScriptError",
    "DatasetUnreachableError",
    "DatasetsError",
    "DiskFullError",
    "DuplicatedKeysError",
    "EntryNotFoundError",
    "ExpectedMoreDownloadedFilesError",
    "ExpectedMoreSplitsError",
    "FileError",
    "FileFormatError",
    "FileMissingError",
    "GatedDatasetError",
    "GatedRepoError",
    "GeneratorError",
    "GristmillError",
    "HubConnectionError",
    "HubError",
    "HubResponseError",
    "IncompleteBodyError",
    "InvalidArgumentError",
    "InvalidConfigName",
    "LockTimeoutError",
    "ManualDownloadError",
    "MissingDependencyError",
    "MissingIndexError",
    "NonMatchingChecksumError",
    "NonMatchingSplitsSizesError",
    "NotThereYetError",
    "OfflineError",
    "RangeIgnoredError",
    "RateLimitedError",
    "RecordError",
    "RepoNotFoundError",
    "RevisionNotFoundError",
    "RowIndexError",
    "SchemaConflictError",
    "SearchIndexError",
    "SplitNotFoundError",
    "SplitsNotFoundError",
    "SplitsVerificationError",
    "TransformError",
    "TransformOutputError",
    "UnexpectedDownloadedFileError",
    "UnexpectedSplitsError",
    "UnsafePathError",
    "WorkerDiedError",
    "place",
    "shorten",
    "suggest",
]


def shorten(value: object, limit: int = 120) -> str:
    """Shows a value in a message: its repr, cut to `limit` characters.

    Args:
        value: Any object; only its repr is used.
        limit: Longest text returned, in characters.

    Example:
        >>> shorten("a" * 200, limit=12)
        "'aaaaaaaaaa…"
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # values nested too deep to be shown, or of a class that can't show them
        text = f"a {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def place(
    file: object = None,
    row: int | str | None = None,
    column: str | None = None,
    line: int | None = None,
) -> str:
    """Words a position in data: the same order and spelling in every message.

    Args:
        file: Path or URL, if known.
        row: Row index counted from 0, if known, with words behind it if it needs some.
        column: Column name or dotted path, if known.
        line: Line of a text file counted from 1, if known.

    Example:
        >>> place("a.csv", row=3, column="x")
        'a.csv, row 3, column "x"'
    """
    parts = [str(file)] if file is not None else []
    if line is not None:
        parts.append(f"line {line}")
    if row is not None:
        parts.append(f"row {row}")
    if column is not None:
        parts.append(f'column "{column}"')
    return ", ".join(parts)


def suggest(name: str, known: Iterable[str], limit: int = 10) -> str:
    """Says which known names are close to a wrong one, or lists them.

    Example:
        >>> suggest("trian", ["train", "test"])
        'Did you mean "train"? There are: test, train.'
    """
    names = sorted(set(known))
    if not names:
        return "There are none."
    # A short name that was written out ("seperator" for "sep") is nearer than what has as many letters.
    begun = sorted((one for one in names if len(one) > 2 and name.startswith(one)), key=len)[-1:]
    near = functools.partial(difflib.get_close_matches, name, names, n=1)
    close = near(cutoff=0.8) or begun or near()
    shown = ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
    return (f'Did you mean "{close[0]}"? ' if close else "") + f"There are: {shown}."


class GristmillError(Exception):
    """Root of all errors raised by Gristmill on purpose."""

    # KeyError shows the repr of its argument; a message must read the same whatever the second base is.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InvalidArgumentError(GristmillError, ValueError):
    """An argument, command-line option or environment variable has a value that can't be used."""

    @classmethod
    def from_value(cls, name: str, value: object, expected: str) -> InvalidArgumentError:
        """Words the error for one argument: its name, what was given, what is expected."""
        return cls(f"{name}={shorten(value)} can't be used: expected {expected}.")

    @classmethod
    def from_choice(cls, name: str, value: object, choices: Iterable[str]) -> InvalidArgumentError:
        """Words the error for an argument that must be one of a few names."""
        return cls(f'{name}="{value}" is not known. {suggest(str(value), choices)}')

    @classmethod
    def from_unknown(cls, start: str, name: str, known: Iterable[str]) -> InvalidArgumentError:
        """Words the error for something that has no such name; `start` is all that is said before the name."""
        return cls(f'{start} "{name}". {suggest(name, known)}')


class MissingDependencyError(GristmillError, ImportError):
    """A feature needs a library that is not installed."""

    @classmethod
    def from_feature(cls, feature: str, package: str, extra: str | None) -> MissingDependencyError:
        """Words the error with the exact command that installs what is missing."""
        command = f'pip install "gristmill[{extra}]"' if extra else f"pip install {package}"
        error = cls(f"{feature} needs the library {package}, which is not installed. Run: {command}")
        error.name = package
        return error


class NotThereYetError(GristmillError, NotImplementedError, AttributeError):
    """A documented name that Gristmill will have and does not have yet.

    Also an AttributeError, so that ``hasattr(dataset, "sort")`` answers "no" as long as it is not there.
    """

    @classmethod
    def from_name(cls, name: str) -> NotThereYetError:
        """Words the error for a public name such as ``Dataset.sort``."""
        return cls(f"gristmill.{name} is not there yet; docs/completeness.md lists what is.")


class DataError(GristmillError, ValueError):
    """Something in the data is wrong.

    Attributes:
        index: Place of the value among those that were read together, where the row is not known yet; see `in_rows`
            and `located`.
        is_located: Whether it is known where the value lies.
    """

    index: int | None = None
    is_located: bool = False
    _row: int | None = None
    _said: dict[str, Any] | None = None

    def in_rows(self, rows: Any) -> DataError:
        """Gives the error with the row, if it only knew the place among rows read together.

        Args:
            rows: The rows read, a sequence or vector of their numbers.
        """
        if self.index is None:
            return self
        row = int(rows[self.index])
        error: DataError = self.located(None, row)
        error._row, error.is_located = row, False
        return error

    @classmethod
    def at(
        cls,
        problem: str,
        *,
        file: object = None,
        row: int | None = None,
        column: str | None = None,
        line: int | None = None,
        remedy: str = "",
    ) -> Any:
        """Words an error about data: where, what, and what to do.

        Args:
            problem: What is wrong, as a sentence without a full stop.
            file: Path or URL, if known.
            row: Row index counted from 0, if known.
            column: Column name or dotted path, if known.
            line: Line counted from 1, if known.
            remedy: What the user can do, as a sentence.
        """
        where = place(file, row, column, line)
        error = cls(
            (f"{where}: " if where else "") + problem.rstrip(".") + "." + (f" {remedy}" if remedy else "")
        )
        error._row, error.is_located = row, file is not None
        error._said = {"problem": problem, "column": column, "line": line, "remedy": remedy}
        return error

    def located(self, file: object, row: int | str | None) -> DataError:
        """Gives the error with the place of the value, where it only knew the one among rows read together.

        Args:
            file: Path or URL, if known.
            row: Its row there, with words if it needs some; None if nobody counted.

        Example:
            >>> str(CastError.at("too large", row=3, column="n").located("b.csv", 1003))
            'b.csv, row 1003, column "n": too large.'
        """
        error: DataError
        if self._said is not None:
            error = type(self).at(file=file, row=row, **self._said)  # type: ignore[arg-type]  # only shown
        else:
            where = place(file, row)
            error = type(self)(f"{where}, {self}" if where else str(self))
        error._row, error.is_located = None, True
        return error

    @property
    def row_in_block(self) -> int | None:
        """The row that the error names, among those read together, if it names one."""
        return self.index if self._row is None else self._row


class FileFormatError(DataError):
    """A file is not what its format says: damaged, cut off, or another format altogether."""


class SchemaConflictError(DataError, TypeError):
    """Two places of a dataset disagree on the type of a column, and no type holds both."""

    @classmethod
    def from_types(
        cls, column: str, first: object, second: object, *, file: object = None, row: int | None = None
    ) -> SchemaConflictError:
        """Words the error for two types that have no common type; `column` may be a path into a column."""
        top = column.partition(".")[0].partition("[")[0]
        error: SchemaConflictError = cls.at(
            f"the type changes from {first} to {second}",
            file=file,
            row=row,
            column=column,
            remedy="Pass `features=` with a type that holds both, for example "
            f'Features({{"{top}": Json()}}), or mend the data.',
        )
        return error


class CastError(DataError, TypeError):
    """A value or column does not fit the type asked for."""

    @classmethod
    def from_columns(cls, extra: Sequence[str], wanted: Iterable[str], file: object = None) -> CastError:
        """Words the error for columns of a file that neither `features=` nor the dataset's card names."""
        known = list(wanted)
        error: CastError = cls.at(
            f"the columns {', '.join(extra[:10])} are not among those asked for ({', '.join(known[:20])})",
            file=file,
            remedy="Add them to `features` (in the call, or under `dataset_info` in the dataset's card), or choose "
            "columns with columns=.",
        )
        return error


class RecordError(DataError):
    """A decision record breaks a rule; `.kind` is the rule's short name, counted in the tables."""

    kind: str = "invalid"

    @classmethod
    def from_rule(cls, kind: str, problem: str) -> RecordError:
        """Makes the error for one broken rule."""
        error = cls(problem)
        error.kind = kind
        return error


class CardError(DataError):
    """The YAML head of a dataset card can't be used."""


class ColumnNotFoundError(GristmillError, KeyError, ValueError):
    """No such column; a ValueError too, which is what `datasets` raises in some methods."""

    @classmethod
    def from_name(cls, name: object, columns: Iterable[str], where: str = "") -> ColumnNotFoundError:
        """Words the error with the columns that exist."""
        start = f"{where}: there" if where else "There"
        return cls(f'{start} is no column "{name}". {suggest(str(name), columns, limit=30)}')


class RowIndexError(GristmillError, IndexError):
    """No such row."""

    @classmethod
    def from_index(cls, index: object, rows: int, *, negative: bool = True) -> RowIndexError:
        """Words the error with the number of rows, and whether negative numbers count from the end."""
        if rows == 0:
            return cls(f"Row {index} was asked for, but the dataset is empty.")
        known = f"Row {index} is out of range: rows go from 0 to {rows - 1}"
        if negative:
            return cls(f"{known} (or -{rows} to -1).")
        counts = isinstance(index, int) and index < 0
        return cls(
            f"{known}, and negative numbers do not count from the end here." if counts else f"{known}."
        )


class SearchIndexError(GristmillError, RuntimeError):
    """A search index could not be built, stored or asked."""


class MissingIndexError(SearchIndexError, KeyError):
    """A dataset has no search index of this name."""

    @classmethod
    def from_name(cls, name: object, indexes: Iterable[str]) -> MissingIndexError:
        """Words the error with the indexes that exist."""
        return cls(
            f'The dataset has no index "{name}". {suggest(str(name), indexes)} Results of select, map and other '
            "transforms begin without one."
        )


class TransformError(GristmillError, RuntimeError):
    """A function given to map or filter failed, or returned something that can't become rows.

    If the function raised, the error is an instance of that exception's class as well (`also`), so that an ``except``
    written for the function's own exception still catches it.

    Attributes:
        first_row: Number of the row that it names, or of the first one.
    """

    first_row: int | None = None

    @classmethod
    def from_rows(cls, function: str, first: int, last: int, problem: str) -> TransformError:
        """Words the error with the function's name and the rows it was given."""
        rows = f"row {first}" if first == last else f"rows {first} to {last}"
        return cls(f"{function} failed on {rows}: {problem}").about(first)

    def about(self, row: int) -> TransformError:
        """Keeps the number of the row that the error names, or of the first one."""
        self.first_row = row
        return self

    def comes_from(self, row: int, where: object) -> TransformError:
        """Says in the error where a row comes from that it knows by its number in the stream.

        Example:
            >>> print(TransformError.from_rows("f", 7, 7, "no").comes_from(7, "row 3 of b.csv"))
            f failed on row 7: no. Row 7 is row 3 of b.csv.
        """
        text = str(self)
        end = "" if text.endswith((".", "!", "?")) else "."
        self.args = (f"{text}{end} Row {row} is {where}.", *self.args[1:])
        return self

    def also(self, cause: BaseException) -> TransformError:
        """Gives this error as one that is an instance of the cause's class too, with the cause's attributes.

        Args:
            cause: What the function raised.

        Returns:
            The error to raise; this one where no class can be both: for StopIteration and StopAsyncIteration, for
            classes that can't be derived from, and for those whose ``__new__`` refuses a text alone.

        Example:
            >>> error = TransformError("f failed on row 3").also(ZeroDivisionError("by zero"))
            >>> isinstance(error, ZeroDivisionError), str(error)
            (True, 'f failed on row 3')
        """
        # A StopIteration would end the loops it passes through, or break the generators.
        if isinstance(self, type(cause)) or isinstance(cause, StopIteration | StopAsyncIteration):
            return self
        try:
            both: Callable[..., TransformError] = _both((type(self), type(cause)))
            # Of a group, its errors are a part that can't be set later.
            group = getattr(cause, "exceptions", None) if _is_group(type(cause)) else None
            error = both(str(self)) if group is None else both(str(self), group)
            error.__dict__.update(vars(cause))
            fields = _fields(cause)
            if "msg" in fields:  # what a traceback shows of a SyntaxError
                fields["msg"] = str(self)
            _set_fields(error, fields)
            error.first_row = self.first_row
        except TypeError:  # a class that can't be derived from, or whose memory layout is its own
            return self
        return error


def _is_group(kind: type) -> bool:
    group = getattr(builtins, "BaseExceptionGroup", None)  # Python 3.10 has none
    return group is not None and issubclass(kind, group)


def _fields(error: BaseException) -> dict[str, Any]:
    """Gives what Python keeps of an exception outside its dict, as the `errno` of an OSError."""
    found = {}
    for kind in type(error).__mro__:
        if kind.__module__ != "builtins" or kind is BaseException:
            continue
        for name, member in vars(kind).items():
            fields = types.MemberDescriptorType, types.GetSetDescriptorType
            if isinstance(member, fields) and not name.startswith("__"):
                with contextlib.suppress(AttributeError, TypeError):  # not set
                    found[name] = member.__get__(error)
    return {name: value for name, value in found.items() if value is not None}


def _set_fields(error: BaseException, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        with contextlib.suppress(AttributeError, TypeError):  # those of a group come with its making
            setattr(error, name, value)


@functools.lru_cache(maxsize=256)
def _both(classes: tuple[type, type]) -> Any:
    first, second = classes

    # __new__ is named, as some builtin exceptions refuse to be made by another's, and MemoryError to make others;
    # pickling goes by the two classes.
    def new(cls: type, *args: Any) -> Any:
        maker = first if issubclass(second, MemoryError) else second
        return maker.__new__(cls, *args)

    def reduce(self: Exception) -> tuple[Any, ...]:
        # The object that lacks an attribute may be anything, also what can't be pickled.
        fields = {name: value for name, value in _fields(self).items() if name != "obj"}
        return _remake, (first, second, self.args, vars(self), fields)

    names = {"__module__": __name__, "__new__": new, "__reduce__": reduce, "__doc__": first.__doc__}
    return type(first.__name__, (first, second), names)


def _remake(
    first: type, second: type, args: tuple[Any, ...], attributes: dict[str, Any], fields: dict[str, Any]
) -> Any:
    error = _both((first, second))(*args)
    error.__dict__.update(attributes)
    _set_fields(error, fields)
    return error


class TransformOutputError(TransformError, ValueError, TypeError):
    """A function given to map or filter returned something that can't become rows.

    A TypeError too, which is what `datasets` raises where the answer is no dict or no list.
    """


class WorkerDiedError(TransformError):
    """A worker process ended without giving an answer, for example because memory ran out."""

    @classmethod
    def from_status(
        cls, rank: int, task: str, status: int | None, signal_name: Callable[[int], str]
    ) -> WorkerDiedError:
        """Words the error with the worker, its task and how it ended.

        Args:
            rank: Number of the worker.
            task: What it was doing.
            status: Its exit status, negative for a signal; None if unknown.
            signal_name: Gives a signal's name.
        """
        if status is not None and status < 0:
            name = signal_name(-status)
            how = f"was ended by {name}"
            if name == "SIGKILL":
                how += " (what the system does when memory runs out: try fewer processes or a smaller batch_size)"
        elif status is not None:
            how = f"ended with exit status {status}"
        else:
            how = "was ended with the process that had started it"
        return cls(
            f"Worker {rank} died while working on {task}: it {how}. What other workers finished is kept; "
            "run again to go on from there."
        )


_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_ELSEWHERE = (
    "It can't be written there. If it belongs to the cache, set HF_HOME or HF_DATASETS_CACHE (or pass cache_dir=) to a "
    "folder that you may write to; results of map and filter are kept in memory with keep_in_memory=True."
)
_REMEDIES = {
    errno.EMFILE: "This process has too many files open: close some, use fewer workers (num_proc=), or raise the limit "
    "(ulimit -n).",
    errno.ENFILE: "The system has too many files open, of all processes together.",
    errno.ENAMETOOLONG: "File systems take names of up to 255 bytes and paths of up to 4,095: use a shorter folder (for the "
    "cache, cache_dir= or HF_DATASETS_CACHE) or shorter names.",
}


def _free_at(path: object, error: OSError) -> str:
    """Says how much is free on the disk of a path; nothing for what only looks like one, such as a file in an archive."""
    import shutil  # only where something has gone wrong: all of Gristmill imports this module

    named = next((str(name) for name in (error.filename, path) if str(name or "").startswith(os.sep)), "")
    while named and not os.path.isdir(named):  # noqa: PTH112  # text: this module stands below all others
        named = os.path.dirname(named)  # noqa: PTH120
    try:
        free = shutil.disk_usage(named).free if named else None
    except OSError:
        free = None
    return "" if free is None else f" ({free / 1e6:,.1f} MB are free at {named})"


class FileError(GristmillError, OSError):
    """Reading or writing a file on this machine failed."""

    @classmethod
    def from_os_error(cls, action: str, path: object, error: OSError) -> FileError:
        """Words the error of an operating system call.

        Args:
            action: What was tried, for example ``"read"``; anything that does not begin with that writes.
            path: On which path.
            error: The system's reason.

        Returns:
            The error: what was tried, why it failed, and what to do, where that is known. A disk or quota that is full
            is a `DiskFullError`.
        """
        if error.errno in _FULL:
            return DiskFullError.from_full_disk(action, path, error)
        remedy = _REMEDIES.get(error.errno or 0, "")
        if error.errno in _FORBIDDEN:
            remedy = "You may not read it: ask its owner." if action.startswith("read") else _ELSEWHERE
        return cls(
            f"Could not {action} {path}: {error.strerror or error}." + (f" {remedy}" if remedy else "")
        )


class FileMissingError(FileError, FileNotFoundError):
    """A file or folder does not exist."""

    @classmethod
    def from_path(cls, path: object, hint: str = "") -> FileMissingError:
        """Words the error for one path."""
        return cls(f"There is no file or folder {path}." + (f" {hint}" if hint else ""))


class DiskFullError(FileError):
    """Not enough room to write."""

    @classmethod
    def from_full_disk(cls, action: str, path: object, error: OSError) -> DiskFullError:
        """Words the error of a system call that found no room.

        Args:
            action: What was tried.
            path: On which path.
            error: The system's reason: the disk is full, or the user's quota.
        """
        quota = error.errno == errno.EDQUOT
        what = "Your quota is used up" if quota else "No room left on the disk"
        return cls(
            f"{what}: could not {action} {path}{'' if quota else _free_at(path, error)}. Free some space there, or, if it "
            "is the cache that needs it, set HF_HOME or HF_DATASETS_CACHE (or pass cache_dir=) to a folder on a larger "
            "disk. What was there before is unchanged."
        )

    @classmethod
    def from_sizes(cls, path: object, needed: int, free: int) -> DiskFullError:
        """Words the error with the bytes needed and free."""
        return cls(
            f"Writing to {path} needs about {needed / 1e6:,.1f} MB and {free / 1e6:,.1f} MB are free. "
            "Free some space, or set HF_DATASETS_CACHE (or cache_dir=) to a larger disk."
        )


class LockTimeoutError(FileError, TimeoutError):
    """Another process holds a lock for longer than one was willing to wait."""

    @classmethod
    def from_owner(cls, path: object, owner: str, seconds: float) -> LockTimeoutError:
        """Words the error with the owner of the lock."""
        return cls(
            f"Waited {seconds:g} s for the lock {path}, held by {owner}. Wait for it, or end that process."
        )


class UnsafePathError(FileError, ValueError):
    """A path from outside (a repository, an archive, a request) would leave the folder it belongs in."""

    @classmethod
    def from_path(cls, path: object, folder: object) -> UnsafePathError:
        """Words the error with the path and the folder it tried to leave."""
        return cls(
            f"The path {shorten(path)} leaves the folder {folder} or is not a plain relative path; refused."
        )


class DatabaseError(FileError):
    """A database refused, or could not be reached."""

    @classmethod
    def from_query(cls, problem: str, driver: str, query: str | None = None) -> DatabaseError:
        """Words the error.

        Args:
            problem: What it can't do, and what it says of that.
            driver: Database and driver.
            query: What it was asked, if it was.
        """
        asked = "" if query is None else f" It was asked: {query}"
        return cls(f"The database ({driver}) can't {problem.rstrip('.')}.{asked}")


class HubError(GristmillError, OSError):
    """Talking to a Hub failed. `.url` and `.status` say where, as far as known."""

    url: str = ""
    status: int | None = None

    @classmethod
    def at_url(cls, problem: str, url: str, status: int | None = None, remedy: str = "") -> Any:
        """Words an error about a request: what happened, the status and URL, and what to do."""
        answer = f" (HTTP {status})" if status is not None else ""
        error = cls(f"{problem.rstrip('.')}{answer}: {url}" + (f". {remedy}" if remedy else ""))
        error.url = url
        error.status = status
        return error


class HubConnectionError(HubError, ConnectionError):
    """No answer, or one that broke off, after all attempts."""


class HubResponseError(HubError):
    """A Hub answered with something that can't be used."""


class RateLimitedError(HubResponseError):
    """The server asked to slow down (429), also after all attempts."""


class RangeIgnoredError(HubResponseError):
    """A range was asked for and anything but 206 came back; reading on could mean reading the whole file."""


class IncompleteBodyError(HubResponseError):
    """A body had other bytes than announced: too few, or with the wrong hash."""


class RepoNotFoundError(HubError, FileNotFoundError):
    """No such repository, or a private one that is not yours (a Hub does not tell which)."""


class RevisionNotFoundError(HubError, FileNotFoundError):
    """The repository exists and has no such branch, tag or commit."""


class EntryNotFoundError(HubError, FileNotFoundError):
    """The revision exists and has no such file or folder."""


class AccessError(HubError, PermissionError):
    """The server refused: no token, a bad token, or no right."""


class GatedRepoError(AccessError):
    """The repository's owner wants people to ask for access first."""


class OfflineError(HubError, ConnectionError):
    """Offline mode is on and what is needed is not in the cache."""


class DatasetsError(GristmillError):
    """Root of the names that `datasets.exceptions` documents."""


class DatasetNotFoundError(DatasetsError, FileNotFoundError):
    """A dataset name that means nothing here; the message lists what was tried, in order."""

    @classmethod
    def from_attempts(
        cls, name: str, attempts: Iterable[tuple[str, str]], hint: str = ""
    ) -> DatasetNotFoundError:
        """Words the error.

        Args:
            name: What the user asked for.
            attempts: (what was tried, why it failed), in the order of trying.
            hint: What to do, as a sentence.
        """
        lines = "".join(f"\n  - {what}: {why}" for what, why in attempts)
        return cls(
            f'No dataset was found under "{name}". Tried, in order:{lines}' + (f"\n{hint}" if hint else "")
        )


class DatasetUnreachableError(DatasetNotFoundError, ConnectionError):
    """A dataset that may well exist: nothing here knows it, and the Hub could not be asked."""


class DatasetRevisionNotFoundError(RevisionNotFoundError, DatasetNotFoundError):
    """A dataset that is on the Hub has no such branch, tag or commit."""


class DatasetAccessError(AccessError, DatasetNotFoundError):
    """The Hub does not give a dataset to whoever asks."""


class GatedDatasetError(GatedRepoError, DatasetAccessError):
    """A dataset that one has to ask for; the message says where."""


_OF_DATASETS: dict[type[HubError], type[HubError]] = {
    RevisionNotFoundError: DatasetRevisionNotFoundError,
    AccessError: DatasetAccessError,
    GatedRepoError: GatedDatasetError,
}


def about_dataset(error: HubError) -> HubError:
    """Gives the error of a Hub about a repository as one that is a `DatasetNotFoundError` too.

    That is what `datasets` raises for revisions that do not exist, and for private and gated datasets.

    Example:
        >>> about_dataset(GatedRepoError("Ask first.")).__class__.__name__
        'GatedDatasetError'
    """
    kind = _OF_DATASETS.get(type(error))
    if kind is None:
        return error
    made = kind(*error.args)
    made.url, made.status = error.url, error.status
    return made


class DatasetScriptError(DatasetsError, RuntimeError):
    """The dataset is given by a Python script; Gristmill never runs code that comes with data."""

    @classmethod
    def from_script(cls, script: object, where: object) -> DatasetScriptError:
        """Words the error with the script and what can be done instead."""
        said = (
            "is a dataset script"
            if str(where).endswith(str(script))
            else f"holds the dataset script {script}"
        )
        return cls(
            f"{where} {said}, and scripts are never run: they are code from strangers. "
            "Pass the data files themselves (data_files=... with the format's name as the first argument), look for a "
            'copy of the dataset in Parquet (revision="refs/convert/parquet" on the Hub), or run the script yourself '
            "and load what it writes."
        )


class DataFilesNotFoundError(DatasetsError, FileNotFoundError):
    """The place exists and holds no data files that can be read, or none that match the patterns."""


class SplitsNotFoundError(DataFilesNotFoundError, ValueError):
    """The splits of a dataset are not known, since no files of it are found."""


class ConfigNotFoundError(DatasetsError, ValueError):
    """The dataset has no such config, or several and none was named."""


class SplitNotFoundError(DatasetsError, ValueError, KeyError):
    """The dataset has no such split; a KeyError too, as a missing key of any dict is."""

    @classmethod
    def from_name(cls, split: str, splits: Iterable[str], where: str = "") -> SplitNotFoundError:
        """Words the error with the splits that exist."""
        return cls(
            (f"{where}: there" if where else "There") + f' is no split "{split}". {suggest(split, splits)}'
        )

    @classmethod
    def from_key(cls, key: object, splits: Iterable[str]) -> SplitNotFoundError:
        """Words the error of a dict of splits; what is no text was probably meant for the rows of one of them."""
        if isinstance(key, str):
            return cls.from_name(key, splits)
        names = list(splits)
        example = f', for example ["{names[0]}"][{shorten(key)}]' if names else ""
        return cls(
            f"{shorten(key)} is no name of a split: choose a split before its rows{example}. {suggest('', names)}"
        )


class DatasetBuildError(DatasetsError):
    """A builder can't prepare its dataset."""


class DatasetGenerationError(DatasetBuildError, RuntimeError):
    """Preparing a dataset failed; the cause says which file and row."""


class GeneratorError(TransformError, DatasetGenerationError):
    """A generator function failed, or yielded something that can't become rows."""


class DatasetGenerationCastError(DatasetGenerationError):
    """Preparing a dataset failed because its files do not share one schema."""


class DuplicatedKeysError(DatasetGenerationError):
    """A builder gave two examples the same key."""

    @classmethod
    def from_key(cls, key: object, first: int | None, second: int, where: str) -> DuplicatedKeysError:
        """Words the error with the key and the rows that share it, as far as known."""
        earlier = "an earlier row" if first is None else f"row {first}"
        return cls(
            f"{where}: {earlier} and row {second} have the same key {shorten(key)}; keys must be unique."
        )


class ManualDownloadError(DatasetBuildError):
    """A dataset whose files have to be fetched by hand; the message says how."""

    @classmethod
    def from_instructions(cls, dataset: str, instructions: str) -> ManualDownloadError:
        """Words the error with the author's instructions."""
        return cls(
            f"The files of {dataset} have to be fetched by hand. {instructions.strip()}\n"
            "Then pass the folder they are in as data_dir=."
        )


class InvalidConfigName(DatasetsError, ValueError):
    """A config's name holds characters that no folder's name has on every system."""


class ChecksumVerificationError(DatasetsError):
    """The files downloaded are not those that were expected."""

    @classmethod
    def from_urls(cls, problem: str, urls: Iterable[str]) -> Any:
        """Words the error with the URLs in question."""
        names = sorted(urls)
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        return cls(
            f"{problem}: {shown}. The files have changed at their source, or the recorded checksums are old; "
            'verification_mode="basic_checks" leaves them unchecked.'
        )


class ExpectedMoreDownloadedFilesError(ChecksumVerificationError):
    """Files with recorded checksums were not downloaded."""


class UnexpectedDownloadedFileError(ChecksumVerificationError):
    """Files were downloaded for which no checksum is recorded."""


class NonMatchingChecksumError(ChecksumVerificationError):
    """Files downloaded have another size or hash than recorded."""


class SplitsVerificationError(DatasetsError):
    """The splits prepared are not those that were expected."""

    @classmethod
    def from_splits(cls, problem: str, details: Iterable[str]) -> Any:
        """Words the error with the splits in question."""
        return cls(
            f"{problem}: {'; '.join(details)}. The data has changed, or what is recorded about it is old; "
            'verification_mode="no_checks" takes it as it is.'
        )


class ExpectedMoreSplitsError(SplitsVerificationError):
    """Splits that are recorded were not prepared."""


class UnexpectedSplitsError(SplitsVerificationError):
    """Splits were prepared that are not recorded."""


class NonMatchingSplitsSizesError(SplitsVerificationError):
    """Splits have other numbers of rows than recorded."""
