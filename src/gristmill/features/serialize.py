"""Features as plain dicts (in schema metadata and ``dataset_info.json``) and as the YAML lists of dataset cards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import singledispatch
from typing import Any

from gristmill.arguments import whole_number
from gristmill.errors import GristmillError, InvalidArgumentError
from gristmill.features.kinds import ClassLabel, FeatureType, LargeList, List, Sequence, Value
from gristmill.features.storage import storage_of

__all__ = ["from_plain", "from_yaml_list", "register_kind", "to_plain", "to_yaml_list", "with_id"]


class UnknownKindError(InvalidArgumentError):
    """A feature type that is not there and whose stored form is not known either; `.kind` names it."""

    kind: str = ""


def _unknown(kind: str) -> UnknownKindError:
    error = UnknownKindError(f'The feature type "{kind}" is not known, and neither is the way it is stored.')
    error.kind = kind
    return error


@singledispatch
def to_plain(feature: FeatureType) -> dict[str, Any]:
    """Turns a feature into plain dicts that `from_plain` reads; defaults are left out.

    Example:
        >>> to_plain(List(Value("int8")))
        {'feature': {'dtype': 'int8', '_type': 'Value'}, '_type': 'List'}
    """
    entries = {k: v for k, v in vars(feature).items() if k[0] != "_" and k != "pa_type" and v is not None}
    return {**entries, "_type": feature._type}


def with_id(entries: dict[str, Any], feature: Any) -> dict[str, Any]:
    """Adds to the entries of a feature its id, if it has one, and its kind."""
    named = {"id": feature.id} if feature.id is not None else {}
    return {**entries, **named, "_type": feature._type}


@to_plain.register
def _(feature: Value) -> dict[str, Any]:
    return with_id({"dtype": feature.dtype}, feature)


@to_plain.register
def _(feature: ClassLabel) -> dict[str, Any]:
    return with_id({"names": list(feature.names)}, feature)


@to_plain.register
def _(feature: List) -> dict[str, Any]:
    length = {"length": feature.length} if feature.length != -1 else {}
    return with_id({"feature": to_plain(feature.feature), **length}, feature)


@to_plain.register
def _(feature: LargeList) -> dict[str, Any]:
    return with_id({"feature": to_plain(feature.feature)}, feature)


@to_plain.register(Mapping)
def _struct(feature: Mapping[str, FeatureType]) -> dict[str, Any]:
    return {name: to_plain(inner) for name, inner in feature.items()}


_MOST_CLASSES = 1_000_000


def _label(entries: Mapping[str, Any]) -> FeatureType:
    names = entries.get("names")
    if isinstance(names, Mapping):
        names = _names_by_id(names)
    number = entries.get("num_classes") if names is None else None
    if number is not None and whole_number("num_classes", number) > _MOST_CLASSES:
        # Each gets a name; a file must not be able to ask for more of them than memory holds.
        raise InvalidArgumentError.from_value("num_classes", number, f"at most {_MOST_CLASSES} without names")
    return ClassLabel(num_classes=number, names=names, id=entries.get("id"))


def _names_by_id(names: Mapping[Any, Any]) -> list[Any]:
    by_id = {int(key): name for key, name in names.items()}
    absent = next((i for i in range(len(names)) if i not in by_id), None)
    if absent is not None:
        # To close the gap would give the later names other ids than the data have.
        raise InvalidArgumentError.from_value(
            "names", dict(names), f"a name for each id from 0 on; there is none for {absent}"
        )
    return [by_id[i] for i in range(len(names))]


def _inner(make: Callable[..., FeatureType]) -> Callable[[Mapping[str, Any]], FeatureType]:
    def build(entries: Mapping[str, Any]) -> FeatureType:
        others = {k: v for k, v in entries.items() if k not in {"feature", "_type"} and v is not None}
        return make(_from_plain(entries["feature"]), **others)

    return build


def _is_struct(plain: Any) -> bool:
    # Only a struct turns into lists; a picture is stored as a struct and is none.
    return isinstance(plain, Mapping) and not isinstance(plain.get("_type"), str)


_KINDS: dict[str, Callable[[Mapping[str, Any]], FeatureType]] = {
    "Value": lambda entries: Value(entries["dtype"], id=entries.get("id")),
    "ClassLabel": _label,
    "List": _inner(List),
    "LargeList": _inner(LargeList),
    "Sequence": lambda entries: _inner(Sequence if _is_struct(entries["feature"]) else List)(entries),
}


def register_kind(name: str, build: Callable[[Mapping[str, Any]], FeatureType]) -> None:
    """Adds a kind of feature that `from_plain` can make.

    Args:
        name: The ``_type`` it is written with.
        build: Makes the feature from its dict.
    """
    _KINDS[name] = build


def from_plain(plain: Any) -> FeatureType:
    """Reads what `to_plain`, or `datasets` of any version, wrote.

    A kind that is not there yet becomes the feature of its stored form.

    Args:
        plain: A dict with a ``_type``, a dict of such (a struct), or a list of one.

    Raises:
        InvalidArgumentError: Not such a form, or a kind that is unknown.

    Example:
        >>> from_plain({"feature": {"dtype": "int8", "_type": "Value"}, "_type": "List"})
        List(Value('int8'))
    """
    with _not_too_deep():
        return _from_plain(plain)


@contextlib.contextmanager
def _not_too_deep() -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise InvalidArgumentError("The features are nested too deep to be read.") from error


def _from_plain(plain: Any) -> FeatureType:
    if isinstance(plain, list) and len(plain) == 1:
        return List(_from_plain(plain[0]))
    if not isinstance(plain, Mapping):
        raise InvalidArgumentError.from_value("features", plain, "a dict with a _type")
    kind = plain.get("_type")
    # A struct may have a field called "_type"; then its value is a dict.
    if not isinstance(kind, str):
        return {str(name): _from_plain(inner) for name, inner in plain.items()}
    if kind not in _KINDS:
        stored = storage_of(kind)
        if stored is None:
            raise _unknown(kind)
        return stored
    try:
        return _KINDS[kind](plain)
    except GristmillError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidArgumentError.from_value("features", dict(plain), f"the entries of a {kind}") from error


def to_yaml_list(features: Mapping[str, FeatureType]) -> list[dict[str, Any]]:
    """Turns named features into the list that stands in a card under ``dataset_info: features:``.

    Example:
        >>> to_yaml_list({"a": List(Value("int8"))})
        [{'name': 'a', 'list': 'int8'}]
    """
    return [{"name": name, **_to_yaml(feature)} for name, feature in features.items()]


@singledispatch
def _to_yaml(feature: FeatureType) -> dict[str, Any]:
    plain = to_plain(feature)
    kind = _snake(plain.pop("_type"))
    return {"dtype": {kind: plain} if plain else kind}


@_to_yaml.register
def _(feature: Value) -> dict[str, Any]:
    return {"dtype": feature.dtype}


@_to_yaml.register
def _(feature: ClassLabel) -> dict[str, Any]:
    return {"dtype": {"class_label": {"names": {str(i): name for i, name in enumerate(feature.names)}}}}


@_to_yaml.register
def _(feature: List) -> dict[str, Any]:
    length = {"length": feature.length} if feature.length != -1 else {}
    return {"list": _yaml_items(feature.feature), **length}


@_to_yaml.register
def _(feature: LargeList) -> dict[str, Any]:
    return {"large_list": _yaml_items(feature.feature)}


@_to_yaml.register(Mapping)
def _struct_to_yaml(feature: Mapping[str, FeatureType]) -> dict[str, Any]:
    return {"struct": to_yaml_list(feature)}


def _yaml_items(feature: FeatureType) -> Any:
    # A list of scalars is short: `list: int8`; of structs it is the list of their fields; else the form in full.
    form = _to_yaml(feature)
    return next(iter(form.values())) if set(form) in ({"dtype"}, {"struct"}) else form


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def from_yaml_list(items: Any) -> dict[str, FeatureType]:
    """Reads the list that stands in a card under ``dataset_info: features:``, in its present and older forms.

    Args:
        items: A list of dicts with a ``name`` and one of ``dtype``, ``list``, ``large_list``, ``sequence``
            (a sequence of a struct is a struct of lists) and ``struct``.

    Returns:
        Feature by name.

    Raises:
        InvalidArgumentError: Not such a list.

    Example:
        >>> from_yaml_list([{"name": "label", "dtype": {"class_label": {"names": {"0": "neg", "1": "pos"}}}}])
        {'label': ClassLabel(names=['neg', 'pos'])}
    """
    with _not_too_deep():
        return _from_yaml_list(items)


def _from_yaml_list(items: Any) -> dict[str, FeatureType]:
    if not isinstance(items, list):
        raise InvalidArgumentError.from_value("features", items, "a list of entries with a name")
    features = {}
    for item in items:
        if not isinstance(item, Mapping) or "name" not in item:
            raise InvalidArgumentError.from_value("features", item, "an entry with a name and a dtype")
        features[str(item["name"])] = _from_yaml({k: v for k, v in item.items() if k != "name"})
    return features


def _from_yaml(form: Any) -> FeatureType:
    if isinstance(form, list):
        return _from_yaml_list(form)
    if form is None or isinstance(form, str):
        return _from_yaml_name(form)
    if not isinstance(form, Mapping) or not form:
        raise InvalidArgumentError.from_value("features", form, "a dtype, list, sequence or struct")
    extra: dict[str, Any] = {"length": int(form["length"])} if isinstance(form.get("length"), int) else {}
    if "list" in form:
        return List(_from_yaml(form["list"]), **extra)
    if "sequence" in form:
        items = form["sequence"]
        make = (
            Sequence
            if isinstance(items, list) or (isinstance(items, Mapping) and "struct" in items)
            else List
        )
        return make(_from_yaml(items), **extra)
    if "large_list" in form:
        return LargeList(_from_yaml(form["large_list"]))
    for key in ("struct", "dtype"):
        if key in form:
            return _from_yaml(form[key])
    kind, entries = next(iter(form.items()))
    return from_plain({**(entries if isinstance(entries, Mapping) else {}), "_type": _camel(str(kind))})


def _from_yaml_name(name: str | None) -> FeatureType:
    if name is None:  # `dtype: null` without quotes
        return Value("null")
    try:
        return Value(name)
    except InvalidArgumentError:
        kind = _camel(name)
        stored = _KINDS[kind]({}) if kind in _KINDS and kind not in _BASIC else storage_of(kind)
        if stored is None:
            raise
        return stored


_BASIC = frozenset(_KINDS)
