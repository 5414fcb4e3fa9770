"""The structural hash of any Python object: equal content, equal hash, in every process and on every machine.

Each kind of object is fed to the hash in its own way: arrays and tables as their memory, containers of plain values in
one C call, functions as their code with everything this code depends on, classes of the user likewise, other objects
by what they would give to pickle. Pickle itself comes last: its bytes depend on which equal objects are the same
object, and on the order of sets.
"""

from __future__ import annotations

import functools
import itertools
import marshal
import re
import secrets
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar

import xxhash

from gristmill.fingerprint.code import (
    is_library,
    local_source,
    module_is_library,
    normal_form,
    values_named_by,
    version_of,
)
from gristmill.fingerprint.handles import stands_for
from gristmill.fingerprint.memory import feed_array, feed_table
from gristmill.logging import get_logger

_log = get_logger(__name__)
_SCALARS = frozenset({int, float, complex, bool, str, bytes, type(None)})
_CONTAINERS = frozenset({list, tuple, dict})
_DEEPEST_PLAIN = 20
_CO_HAS_DOCSTRING = 0x4000000
fingerprint_warnings: dict[str, bool] = {}
"""Names of what could not be hashed and was warned of, once; taking a name out lets it be warned of again."""

# Set by Python for its own use, or of no influence on what a class does.
_CLASS_NOISE = frozenset({
    "__dict__", "__weakref__", "__module__", "__qualname__", "__doc__", "__firstlineno__", "__static_attributes__",
    "__annotate__", "__annotate_func__", "__annotations_cache__", "_abc_impl", "__abstractmethods__", "__classcell__",
    "__getstate__", "__hash__",
})  # fmt: skip


class Hasher:
    """Hashes any number of Python objects, one after another.

    Attributes:
        dispatch: How objects of a class of yours are hashed: class to a function that is given the hasher's class and
            the object, and returns what stands for the object, for example ``hasher.hash(value.path)``.

    Example:
        >>> Hasher.hash([1, {2, 3}]) == Hasher.hash([1, {3, 2}])
        True
        >>> Hasher.hash(lambda x: x + 1) == Hasher.hash(lambda x: x + 2)
        False
    """

    dispatch: ClassVar[dict[type, Callable[[type[Hasher], Any], Any]]] = {}

    def __init__(self) -> None:
        self._state = xxhash.xxh3_128()

    @classmethod
    def hash_bytes(cls, value: bytes | list[bytes]) -> str:
        """Hashes bytes as they are.

        Args:
            value: One piece or a list of pieces.

        Returns:
            16 hexadecimal digits.
        """
        state = xxhash.xxh3_128()
        for piece in [value] if isinstance(value, bytes) else value:
            state.update(piece)
        return str(state.hexdigest()[:16])

    @classmethod
    def hash(cls, value: Any) -> str:
        """Hashes one object.

        Args:
            value: Anything; what can't be hashed gets a random hash and one warning that names it.

        Returns:
            16 hexadecimal digits.
        """
        hasher = cls()
        hasher.update(value)
        return hasher.hexdigest()

    def update(self, value: Any) -> None:
        """Adds one object."""
        try:
            _Walk(self._state, {}, {}).feed(value)
        except RecursionError:
            self._state.update(_unhashable(value, "it is nested too deeply"))

    def hexdigest(self) -> str:
        """Gives the hash of everything added so far, as 16 hexadecimal digits."""
        return str(self._state.hexdigest()[:16])


def _unhashable(value: Any, reason: str) -> bytes:
    name = getattr(value, "__qualname__", None) or f"an object of class {type(value).__qualname__}"
    if not fingerprint_warnings.get(name):
        fingerprint_warnings[name] = True
        _log.warning(
            "%s can't be hashed (%s): a transform that uses it gets a random fingerprint, so its result can't be "
            "found again by a later run.",
            name,
            reason,
        )
    return secrets.token_bytes(16)


def _is_plain(container: Any) -> bool:
    """Says whether a container holds nothing but exact scalars and exact lists, tuples and dicts of them."""
    level = [container]
    for _ in range(_DEEPEST_PLAIN):
        values: list[Any] = []
        for item in level:
            if type(item) is dict:
                values.extend(item.keys())
                values.extend(item.values())
            else:
                values.extend(item)
        kinds = set(map(type, values))
        if kinds <= _SCALARS:
            return True
        if not kinds <= _SCALARS | _CONTAINERS:
            return False
        level = [item for item in values if type(item) in _CONTAINERS]
    return False


class _Walk:
    """One walk through an object.

    `path` holds the objects being visited (a cycle ends at one of them), `done` the digests of functions and classes
    already seen, with the objects themselves so that their ids stay theirs.
    """

    def __init__(self, state: Any, path: dict[int, int], done: dict[int, tuple[Any, bytes]]) -> None:
        self.write = state.update
        self.path = path
        self.done = done

    def feed(self, value: Any) -> None:
        kind = type(value)
        if kind in _SCALARS:
            self.write(marshal.dumps(value, 2))
            return
        if kind in _CONTAINERS and _is_plain(value):
            self.write(b"plain")
            self.write(marshal.dumps(value, 2))
            return
        if id(value) in self.path:
            self.write(b"cycle%d" % (len(self.path) - self.path[id(value)]))
            return
        self.path[id(value)] = len(self.path)
        try:
            self._feed_object(value, kind)
        finally:
            del self.path[id(value)]

    def digest(self, value: Any) -> bytes:
        """Hashes an object by itself."""
        state = xxhash.xxh3_128()
        _Walk(state, self.path, self.done).feed(value)
        return bytes(state.digest())

    def _once(self, value: Any, feed: Callable[[_Walk], None]) -> None:
        known = self.done.get(id(value))
        if known is None:
            state = xxhash.xxh3_128()
            feed(_Walk(state, self.path, self.done))
            known = self.done[id(value)] = (value, bytes(state.digest()))
        self.write(known[1])

    def _feed_object(self, value: Any, kind: type) -> None:
        own = getattr(kind, "__gristmill_hash__", None)
        if kind in Hasher.dispatch:
            self._all(b"own", kind.__qualname__, Hasher.dispatch[kind](Hasher, value))
        elif own is not None:
            self._all(b"own", kind.__qualname__, own(value))
        elif kind is list or kind is tuple:
            self._all(kind.__name__.encode() + b"%d" % len(value), *value)
        elif kind is dict:
            self._all(b"dict%d" % len(value), *itertools.chain.from_iterable(value.items()))
        elif kind is set or kind is frozenset:
            self.write(b"set%d" % len(value))
            for digest in sorted(map(self.digest, value)):
                self.write(digest)
        elif kind is types.FunctionType:
            self._once(value, lambda walk: walk._function(value))
        elif isinstance(value, type):
            self._once(value, lambda walk: walk._class(value))
        elif kind is types.ModuleType:
            self._all(b"module", value.__name__, version_of(value.__name__), local_source(value.__name__))
        elif not self._known_object(value, kind):
            if handle := stands_for(value, kind):
                self._all(b"handle", *handle)
            else:
                self._by_reduction(value)

    def _all(self, tag: bytes, *values: Any) -> None:
        self.write(tag)
        for value in values:
            self.feed(value)

    def _known_object(self, value: Any, kind: type) -> bool:
        """Feeds the kinds of objects whose content is known; says whether this was one."""
        if kind is types.CodeType:
            self._code(value)
        elif kind is types.MethodType:
            self._all(b"method", value.__func__, value.__self__)
        elif kind in (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType):
            bound = getattr(value, "__self__", None)
            owner = None if isinstance(bound, types.ModuleType) else bound
            self._all(b"builtin", getattr(value, "__module__", None), value.__qualname__, owner)
        elif isinstance(value, functools.partial):
            self._all(b"partial", value.func, value.args, value.keywords)
        elif kind is re.Pattern:
            self._all(b"pattern", value.pattern, value.flags)
        elif kind is property:
            self._all(b"property", value.fget, value.fset, value.fdel)
        elif isinstance(value, functools.cached_property):
            self._all(b"cached property", value.func)
        elif isinstance(value, classmethod | staticmethod):
            self._all(kind.__name__.encode(), value.__func__)
        elif kind is types.CellType:
            self._all(b"cell", *_cell(value))
        elif kind in (bytearray, memoryview):
            self._all(b"bytes", bytes(value))
        elif kind is types.MappingProxyType:
            self._all(b"dict", dict(value))
        elif kind is object:
            self.write(b"object")
        elif callable(value) and hasattr(value, "__wrapped__") and module_is_library(str(kind.__module__)):
            # functools.lru_cache and its like: what they wrap decides the result.
            self._all(b"wrapper", kind.__qualname__, value.__wrapped__)
        else:
            return self._data(value, kind)
        return True

    def _data(self, value: Any, kind: type) -> bool:
        # Classes with a slot of that name (typing has some) give the slot.
        module: object = kind.__module__
        package = module.partition(".")[0] if isinstance(module, str) else ""
        if package == "numpy" and kind.__name__ in ("ndarray", "memmap"):
            self._array(value)
        elif package == "pyarrow" and hasattr(value, "schema") and hasattr(value, "to_batches"):
            self._table(value)
        elif isinstance(module, str) and module.startswith("gristmill.table.") and hasattr(value, "table"):
            # By its rows: a file may change under its name.
            self._table(value.table)
        elif package == "pyarrow" and hasattr(value, "type") and hasattr(value, "null_count"):
            import pyarrow as pa

            self._table(pa.Table.from_arrays([value], names=[""]))
        elif package == "pyarrow" and kind.__name__ == "RecordBatch":
            import pyarrow as pa

            self._table(pa.Table.from_batches([value]))
        elif package == "pyarrow" and kind.__name__ == "Buffer":
            self._all(b"buffer", value.size)
            self.write(memoryview(value))
        elif package == "pyarrow" and kind.__name__ == "Schema":
            self.write(b"schema")
            self.write(value.serialize())
        else:
            return self._tensor(value, kind)
        return True

    def _tensor(self, value: Any, kind: type) -> bool:
        """Feeds a dense tensor of PyTorch, wherever it lies; what pickle is given of one is not the same each time."""
        torch: Any = sys.modules.get("torch")
        if torch is None or not isinstance(value, torch.Tensor):
            return False
        if value.layout != torch.strided or value.is_quantized or value.device.type == "meta":
            return False
        self._all(b"tensor", kind.__qualname__, str(value.dtype), list(value.shape), value.requires_grad)
        flat = value.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
        feed_array(flat.view(torch.uint8).numpy(), self.write)
        return True

    def _array(self, value: Any) -> None:
        self._all(b"array", value.dtype.str, list(value.shape))
        if value.dtype.hasobject:
            self.feed(value.tolist())
            return
        if value.dtype.names:
            self.feed(repr(value.dtype))
        feed_array(value, self.write)

    def _table(self, table: Any) -> None:
        self.write(b"table")
        feed_table(table, self.write)

    def _function(self, function: types.FunctionType) -> None:
        library = is_library(function.__code__.co_filename)
        if library:
            module = function.__module__ or ""
            self._all(b"library", module, function.__qualname__, version_of(module))
            inner = "<locals>" in function.__qualname__ or "<lambda>" in function.__qualname__
            if module_is_library(module) and not inner:
                return
        registry = getattr(function, "registry", None)
        if library and isinstance(registry, types.MappingProxyType):
            # functools.singledispatch: the rest of what it holds is a cache.
            self._all(b"registry", *itertools.chain.from_iterable(registry.items()))
            return
        self._code(function.__code__)
        self._all(b"defaults", function.__defaults__, function.__kwdefaults__)
        for cell in function.__closure__ or ():
            self._all(b"cell", *_cell(cell))
        if library:
            return  # a decorator of a library: what it wraps is in its cells, and its version says the rest
        for name, value in values_named_by(function):
            self._all(b"global", name, value)

    def _code(self, code: types.CodeType) -> None:
        instructions, constants = normal_form(code)
        self._all(
            b"code",
            instructions,
            getattr(code, "co_exceptiontable", b""),
            [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount],
            code.co_flags & ~_CO_HAS_DOCSTRING,
            [list(code.co_varnames), list(code.co_freevars), list(code.co_cellvars)],
            *constants,
        )

    def _class(self, cls: type) -> None:
        self._all(b"class", cls.__module__, cls.__qualname__)
        if module_is_library(cls.__module__):
            self.feed(version_of(cls.__module__))
            return
        for base in (type(cls), *cls.__bases__):
            self.feed(base)
        for name in sorted(set(vars(cls)) - _CLASS_NOISE):
            member = vars(cls)[name]
            if not isinstance(member, types.GetSetDescriptorType | types.MemberDescriptorType):
                self._all(b"member", name, member)

    def _by_reduction(self, value: Any) -> None:
        """Feeds what pickle would be given: the class, its arguments, and the object's state."""
        if value is NotImplemented or value is Ellipsis:
            self.write(repr(value).encode())
            return
        try:
            reduced = value.__reduce_ex__(4)
            parts = () if isinstance(reduced, str) else _parts(*reduced)
        except Exception as error:  # noqa: BLE001  # objects may refuse in any way; they are named in the warning
            self.write(_by_pickle(value, error))
            return
        if isinstance(reduced, str):
            self._all(b"named", type(value).__module__, reduced)
            return
        maker, arguments, *rest = parts
        self._all(b"object", maker, arguments)
        for position, part in enumerate(rest):
            self.feed(part if position else _without_cached(part, type(value)))


def _parts(maker: Any, arguments: Any, *rest: Any) -> tuple[Any, ...]:
    # State as it is; items of lists and dicts come as iterators.
    return (maker, arguments, *rest[:1], *(part if part is None else list(part) for part in rest[1:3]))


def _without_cached(state: Any, cls: type) -> Any:
    """Leaves out of an object's state what it computed of itself (`functools.cached_property`) by being used."""
    if type(state) is not dict:
        return state
    cached = {name for name in state if isinstance(getattr(cls, str(name), None), functools.cached_property)}
    # An object without attributes has None for a state.
    return {name: part for name, part in state.items() if name not in cached} or None if cached else state


def _cell(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not filled yet
        return ()


def _by_pickle(value: Any, reason: Exception) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value))
    except Exception:  # noqa: BLE001  # as above
        return _unhashable(value, str(reason))
