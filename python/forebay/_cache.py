"""A cache in this process."""

from __future__ import annotations

import builtins
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, Union

from . import _forebay
from ._file import File
from ._options import arguments

#: Hints that are told together.
TOGETHER = 10_000
#: A hint: path, start and end.
Want = tuple[str, int, Union[int, None]]
#: A path: a text, or bytes as :func:`os.fsencode` makes them.
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
#: Sources: a place, or places by name, each of which is then a folder.
Sources = Union[Path, Mapping[str, Path]]
#: What will be read: a path, or a path with the first byte and the end.
Wanted = Union[Path, tuple[Path, int, Union[int, None]]]
#: What a call yields.
Yield = TypeVar("Yield")


class Cache:
    """A read cache that looks ahead, in this process.

    >>> with Cache("/srv/data", memory="1GiB") as cache:  # doctest: +SKIP
    ...     table = cache.read("tables/2026.parquet")

    All methods may be called from many threads; they wait without Python's lock. A cache does not
    outlive a fork: the child gets a ``RuntimeError``. Where several processes read the same data,
    :func:`forebay.mount` gives them one cache.
    """

    def __init__(
        self,
        source: Sources,
        *,
        memory: str | int | None = None,
        policy: str | None = None,
        settings: Mapping[str, str] | None = None,
        **options: object,
    ) -> None:
        """Opens a source, or several.

        :param source: what ``forebay mount`` takes, as ``"/srv/data"``, ``"s3://bucket/prefix"`` or
            ``"https://host/path/"``; or a mapping from names to such, each of which is then a folder
        :param memory: the budget for everything, as ``"512MiB"`` or in bytes
        :param policy: the policy, as ``"auto"``
        :param settings: settings of object stores by the names of the Rust crate ``object_store``, as
            ``aws_access_key_id``; the environment has the others
        :param options: further options of ``forebay mount``, as ``endpoint="http://127.0.0.1:7070"``,
            ``patience="5s"`` or ``ttl="1m"``
        :raises OSError: a source cannot be reached; ``FileNotFoundError`` if it is not there
        :raises ValueError: an option's value makes no sense
        :raises TypeError: an option is not known; the message names those that are
        """
        line = arguments("Cache", "cache", {"memory": memory, "policy": policy, **options})
        named = sources(source)
        self._cache = _forebay.Cache([*line, "--", *named], _settings(settings))

    @classmethod
    def _over(cls, cache: _forebay.Cache) -> Cache:
        self = cls.__new__(cls)
        self._cache = cache
        return self

    def open(self, path: Path, mode: str = "rb") -> File:
        """Opens a file for reading."""
        if mode not in ("rb", "r"):
            raise ValueError(f"a cache only reads: mode is 'rb', not {mode!r}")
        name = named(path)
        return File(self, self._cache.open(name), name)

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        """Reads a range of a file, or all of it; fewer bytes at its end."""
        wanted = named(path), offset, length
        return _placed([wanted], self._cache.read, *wanted)

    def read_ranges(self, ranges: Iterable[tuple[Path, int, int | None]]) -> list[bytes]:
        """Reads ranges, each given as path, offset and length. All of them are under way at once."""
        wanted = [_triple(one, "path, offset and length") for one in ranges]
        return _placed(wanted, self._cache.read_ranges, wanted)

    def info(self, path: Path = "") -> dict[str, Any]:
        """The name, type (``file`` or ``directory``) and size of a path."""
        return self._cache.info(named(path))

    def list(self, path: Path = "") -> list[dict[str, Any]]:
        """The names in a folder, each as :meth:`info` has it."""
        return self._cache.list(named(path))

    def refresh(self, path: Path = "") -> None:
        """Forgets what a source told of the names at a path and below it, which is otherwise believed
        for ``ttl``. The next question asks the source. Cached bytes stay: they belong to a version."""
        self._cache.refresh(named(path))

    def hint(self, wanted: Iterable[Wanted], list: str = "default", mode: str = "append") -> None:
        """Tells what will be read next, in order, so that it is fetched ahead.

        :param wanted: paths, or tuples of a path, the first byte and the end; a path is a text or bytes
        :param list: the list that this goes on with; each reader has one of its own
        :param mode: ``append``, ``replace`` or ``clear``
        :raises OSError: the names that wait take an eighth of the memory, and more than 8 MiB
        """
        before = 0
        for piece in pieces(wanted):
            _placed(piece, self._cache.hint, list, mode, piece, before)
            before += len(piece)
            mode = "append" if mode == "replace" else mode

    def hints(self) -> builtins.list[dict[str, Any]]:
        """The lists that were told: how far their readers are, names that are missing, and bytes that
        were fetched and wasted."""
        lists: builtins.list[dict[str, Any]] = json.loads(self._cache.hints())["lists"]
        return lists

    def stats(self) -> dict[str, Any]:
        """The counters, as ``forebay stats --json`` has them."""
        counters: dict[str, Any] = json.loads(self._cache.stats())
        return counters

    def explain(self) -> dict[str, Any]:
        """The reasons, as ``forebay explain --json`` has them."""
        reasons: dict[str, Any] = json.loads(self._cache.explain())
        return reasons

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._cache.closed

    def close(self) -> None:
        """Closes the cache. Its files cannot be read any more."""
        self._cache.close()

    def __enter__(self) -> Cache:
        if self.closed:
            raise ValueError("the cache is closed: open another one")
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            return "<forebay.Cache, closed>" if self.closed else f"<forebay.Cache of {self._cache.describe()}>"
        except RuntimeError:
            return "<forebay.Cache of the process that this one was forked from>"

    def __reduce__(self) -> Any:
        raise TypeError("a cache cannot be pickled: use forebay.mount() in the parent, or open a cache in each process")


def sources(source: Sources) -> Sequence[str]:
    """Sources as the command takes them."""
    if isinstance(source, Mapping):
        return [f"{_named(name)}={named(place)}" for name, place in source.items()]
    if isinstance(source, (str, bytes, os.PathLike)):
        return [named(source)]
    kind = type(source).__name__
    raise TypeError(f"a source is a path, a URL, or a mapping from names to these, not {kind}")


def named(path: Path) -> str:
    """A path as a text.

    :raises ValueError: it has a zero byte, which no name has
    """
    text = os.fsdecode(path)
    if "\0" in text:
        raise ValueError(f"{text!r} has a zero byte, as no name of a file has")
    return text


def _named(name: object) -> str:
    """The name of a source among several."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a source is a text, not {type(name).__name__}: {name!r}")
    if not name or "/" in name or "=" in name:
        raise ValueError(f"{name!r} cannot be the name of a source: each is a folder, so it has no '/', and no '='")
    return name


def _settings(settings: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """Settings as pairs of texts."""
    if settings is None:
        return []
    if not isinstance(settings, Mapping):
        raise TypeError(f"settings are a mapping from names to texts, not {type(settings).__name__}")
    for name, value in settings.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"the setting {name!r} must be a text, not {type(value).__name__}")
    return list(settings.items())


def _triple(one: Any, parts: str) -> Want:
    """A path with two numbers."""
    if not isinstance(one, (tuple, list)) or len(one) != 3:
        raise TypeError(f"{one!r} is none of {parts}")
    return named(one[0]), one[1], one[2]


def _placed(wants: Sequence[Want], call: Callable[..., Yield], *args: object) -> Yield:
    """Calls with places in files among the arguments, and refuses numbers that are none."""
    try:
        return call(*args)
    except OverflowError:
        wrong = next((want for want in wants if not _is_place(want)), wants)
        raise ValueError(f"{wrong}: a place in a file is a number of bytes from 0 to 2^64 - 1") from None


def _is_place(want: Want) -> bool:
    return all(number is None or 0 <= number < 1 << 64 for number in want[1:])


def pieces(wanted: Iterable[Wanted]) -> Iterator[list[Want]]:
    """Hints as lists of so many at most, so that millions need no memory here; at least one list."""
    if isinstance(wanted, (str, bytes, os.PathLike)):
        raise TypeError("hints are a list: give [path], not a path")
    wants = (
        _triple(one, "path, first byte and end") if isinstance(one, tuple) else (named(one), 0, None) for one in wanted
    )
    piece = list(itertools.islice(wants, TOGETHER))
    yield piece
    while len(piece) == TOGETHER:
        piece = list(itertools.islice(wants, TOGETHER))
        if piece:
            yield piece
