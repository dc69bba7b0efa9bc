"""From keyword arguments to the options of the command."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping

from . import _forebay

#: Options that are folders: a number is none.
_FOLDERS = ("disk",)

#: Options of how a command shows its results, which are values here.
_SHOWING = ("csv", "json", "plot")


def arguments(caller: str, command: str, options: Mapping[str, object], without: Collection[str] = ()) -> list[str]:
    """The command line of these options.

    :param caller: the function that was called, for messages
    :param command: the command whose options these are
    :param without: its options that cannot be given here
    :raises TypeError: the command has no such option
    :raises ValueError: a list is empty
    """
    known = [option for option in _forebay.options(command) if option not in _SHOWING and option not in without]
    found: list[str] = []
    for name, value in options.items():
        option = name.replace("_", "-")
        if option not in known:
            names = ", ".join(sorted(name.replace("-", "_") for name in known))
            raise TypeError(f"{caller}() has no option {name!r}; known are {names}")
        found.extend(f"--{option}={text}" for text in _values(name, value))
    return found


def _values(name: str, value: object) -> Iterable[str]:
    if value is None:
        return []
    if isinstance(value, (list, tuple, set, frozenset)):
        if not value:
            raise ValueError(f"option {name!r} is an empty list: leave it out for the default")
        return [_text(name, item) for item in value]
    return [_text(name, value)]


def _text(name: str, value: object) -> str:
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    if name in _FOLDERS:
        raise TypeError(f"option {name!r} is a path, not {type(value).__name__}: {value!r}")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)) or hasattr(value, "__index__"):
        return str(value)
    kind = type(value).__name__
    raise TypeError(f"option {name!r} must be a text, a number, a boolean or a list of these, not {kind}")
