"""For PyTorch: tells a cache the order in which an epoch will read its files.

It imports no PyTorch: a sampler is anything that yields indices.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from typing import Any, Protocol, Union

from . import _control
from ._cache import Wanted, pieces
from ._mount import below

__all__ = ["Ordered"]

#: Numbers of lists that have no name of their own.
_NUMBERS = count()

#: Files that are told ahead of the reader, at least; twice as many at most, which the least of caches
#: has memory for, with names of up to 180 bytes.
AHEAD = 20_000

#: Where the file of an index is: a sequence, or a function of the index.
Paths = Union[Sequence[Wanted], Callable[[Any], Wanted]]


class _Hinted(Protocol):
    def hint(self, wanted: Iterable[Wanted], list: str = ..., mode: str = ...) -> None: ...


class Ordered:
    """A sampler that draws the order of a whole epoch, tells it to a cache, and goes on as before.

    >>> with forebay.mount("s3://bucket/images") as data:  # doctest: +SKIP
    ...     sampler = Ordered(RandomSampler(dataset), dataset.paths, cache=data)
    ...     loader = DataLoader(dataset, batch_size=256, sampler=sampler, num_workers=8)

    It runs in the main process, so the workers change nothing. It wraps a batch sampler as well. Of an
    epoch of millions of files, it tells the next twenty thousand or more.
    """

    def __init__(
        self,
        sampler: Iterable[Any],
        paths: Paths,
        cache: _Hinted | str | os.PathLike[str],
        list: str | None = None,
    ) -> None:
        """Wraps a sampler.

        :param sampler: yields indices, or lists of indices
        :param paths: the path of each index, or a function from index to path; a path may be a tuple
            of path, first byte and end
        :param cache: a :class:`forebay.Mount`, a :class:`forebay.Cache`, or a folder in a mount
        :param list: the name of the list; by default one of this object's own
        """
        if not isinstance(cache, (str, os.PathLike)) and not hasattr(cache, "hint"):
            kind = type(cache).__name__
            raise TypeError(f"cache is a forebay.Mount, a forebay.Cache or a folder in a mount, not {kind}")
        if not callable(paths) and not hasattr(paths, "__getitem__"):
            raise TypeError(f"paths are a sequence, or a function from index to path, not {type(paths).__name__}")
        self.sampler = sampler
        self.paths = paths
        self.cache = cache
        self.list = list or f"epoch-{os.getpid()}-{next(_NUMBERS)}"

    def __iter__(self) -> Iterator[Any]:
        order = list(self.sampler)
        at = self.paths if callable(self.paths) else self.paths.__getitem__
        left = (at(index) for index in _flat(order))
        self._tell(islice(left, 2 * AHEAD), "replace")
        return self._drawn(order, left)

    def _drawn(self, order: list[Any], left: Iterator[Wanted]) -> Iterator[Any]:
        passed = 0
        for drawn in order:
            yield drawn
            passed += len(drawn) if isinstance(drawn, (list, tuple)) else 1
            if passed >= AHEAD:
                passed -= AHEAD
                self._tell(islice(left, AHEAD), "append")

    def __len__(self) -> int:
        return len(self.sampler)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        # Such as `set_epoch` and `batch_size`, which programs ask the sampler for.
        if name in ("sampler", "__setstate__"):
            raise AttributeError(name)
        return getattr(self.sampler, name)

    def _tell(self, wanted: Iterable[Wanted], mode: str) -> None:
        if hasattr(self.cache, "hint"):
            self.cache.hint(wanted, list=self.list, mode=mode)
        else:
            folder = _mount_of(os.fspath(self.cache))
            _control.hint(folder, (below(folder, piece) for piece in pieces(wanted)), self.list, mode)


def _mount_of(folder: str) -> str:
    """The mount that a folder is in; the folder itself if it is in none."""
    place = os.path.abspath(folder)
    while not os.path.ismount(place):
        place = os.path.dirname(place)
    return folder if place == os.path.sep else place


def _flat(order: Iterable[Any]) -> Iterator[Any]:
    """Indices, also of batches."""
    for index in order:
        if isinstance(index, (list, tuple)):
            yield from index
        else:
            yield index
