"""The marker for documented names that are still to come: declared, visible to introspection, clear when used.

A placeholder class can be imported and used in ``isinstance`` (it has no instances), because libraries name
``Video`` at their top and never touch it afterwards; calling it or reading from it raises
`NotThereYetError`. `tools/completeness.py` finds the markers and writes the table in docs/completeness.md.
"""

from __future__ import annotations

from typing import Any, NoReturn

from gristmill.errors import NotThereYetError


class MissingClassMeta(type):
    """Class of placeholder classes: no instances, no attributes, an error that says so."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses to make an instance."""
        raise NotThereYetError.from_name(cls.__name__)

    def __getattr__(cls, name: str) -> NoReturn:
        # Probing for dunders (copy, pickle, typing, doctest do it) must stay an ordinary "no".
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotThereYetError.from_name(f"{cls.__name__}.{name}")


def missing_class(name: str) -> type:
    """Makes the placeholder for a documented class.

    Args:
        name: The class's public name.

    Example:
        >>> Video = missing_class("Video")
        >>> isinstance(3, Video)
        False
        >>> Video()
        Traceback (most recent call last):
        ...
        gristmill.errors.NotThereYetError: gristmill.Video is not there yet; ...
    """
    return MissingClassMeta(name, (), {"__module__": "gristmill", "__doc__": f"Not there yet: {name}."})


class MissingMethod:
    """Descriptor for a documented method, property or constructor that is still to come.

    Reading it from the class gives the marker itself (so that tools see it); reading it from an instance raises.

    Example:
        >>> class Thing:
        ...     sort = MissingMethod()
        >>> Thing().sort()
        Traceback (most recent call last):
        ...
        gristmill.errors.NotThereYetError: gristmill.Thing.sort is not there yet; ...
    """

    name = "?"

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"{owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        raise NotThereYetError.from_name(self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses, naming what is missing."""
        raise NotThereYetError.from_name(self.name)


def is_missing(thing: object) -> bool:
    """Says whether something read from the public API is a marker.

    Example:
        >>> is_missing(missing_class("Video")), is_missing(print)
        (True, False)
    """
    return isinstance(thing, MissingClassMeta | MissingMethod)
