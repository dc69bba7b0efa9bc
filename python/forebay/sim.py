"""Simulations: traces under policies, without any storage.

>>> import forebay
>>> result = forebay.simulate("zipf:objects=1000,requests=10000", ["opt", "lru"], memory=["1%", "10%"])
>>> [row["policy"] for row in result]
['opt', 'opt', 'lru', 'lru']
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Union, overload

from . import _forebay
from ._forebay import Trace
from ._options import arguments

__all__ = ["Replacement", "Result", "Trace", "curve", "simulate"]

#: A row of a result: the names and values of `forebay sim --json`.
Row = dict[str, Any]
#: A policy: a name, with its options as in the command, or a class of one's own.
Policy = Union[str, "type[Replacement]"]
#: A size: a share (`0.1`, `"10%"`), a number of blocks (`4096`), or bytes (`"512MiB"`).
Size = Union[str, int, float]


class Replacement:
    """A replacement policy of one's own: derive a class, and give the class to :func:`simulate`.

    The simulator makes an object for each size of the cache, and knows which blocks the cache
    holds. Blocks are numbers, from zero on, in the order in which the trace first refers to them::

        held:      hit(key)
        not held:  miss(key), and if the cache is full evict() and remove(…), then insert(key)

    >>> from collections import OrderedDict
    >>> class MyLRU(Replacement):
    ...     def __init__(self, blocks):
    ...         self.order = OrderedDict()
    ...     def hit(self, key):
    ...         self.order.move_to_end(key)
    ...     def insert(self, key):
    ...         self.order[key] = None
    ...     def evict(self):
    ...         return next(iter(self.order))
    ...     def remove(self, key):
    ...         del self.order[key]
    """

    def __init__(self, blocks: int) -> None:
        """A policy for a cache of so many blocks."""

    def hit(self, key: int) -> None:
        """A block that the cache holds is referred to."""

    def miss(self, key: int) -> None:
        """A block that the cache does not hold is referred to; :meth:`insert` follows."""

    def insert(self, key: int) -> None:
        """The cache holds a block from now on."""

    def evict(self) -> int:
        """The cache is full: returns the block that goes."""
        raise NotImplementedError(f"{type(self).__name__} has no method evict()")

    def remove(self, key: int) -> None:
        """A block has left the cache."""


class Result(Sequence[Row]):
    """The rows of a simulation, one for each run.

    It is a sequence of dicts. It also is a table, for every library that takes the Arrow C stream
    interface: ``polars.DataFrame(result)``, ``pyarrow.table(result)``, or DuckDB's ``FROM result``.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = [dict(row) for row in rows]

    @property
    def columns(self) -> list[str]:
        """The names of all columns, in the order in which rows first have them."""
        return list(dict.fromkeys(name for row in self._rows for name in row))

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Result: ...
    def __getitem__(self, index: int | slice) -> Row | Result:
        if isinstance(index, slice):
            return Result(self._rows[index])
        return dict(self._rows[index])

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return (dict(row) for row in self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Result) -> Result:
        """The rows of both: the parts of a sweep become one table."""
        if not isinstance(other, Result):
            return NotImplemented
        return Result(self._rows + other._rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule of the Arrow C stream interface."""
        return _forebay.stream_of_rows(json.dumps(self._rows))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``."""
        import pandas

        return pandas.DataFrame(self._rows, columns=self.columns)

    def plot(self, ax: Any = None, x: str | None = None, y: str | None = None) -> Any:
        """Draws a line for each policy with matplotlib (extra ``plot``), and returns the axes.

        :param ax: the axes to draw into; by default new ones
        :param x: the column to the right; by default the handlers of a simulation with time if they
            differ, else the blocks in the cache
        :param y: the column upwards; by default the throughput or the miss ratio
        """
        timed = "throughput_mb_s" in self.columns
        handlers = timed and len({row.get("handlers") for row in self._rows}) > 1
        x = x or ("handlers" if handlers else "capacity_blocks")
        y = y or ("throughput_mb_s" if timed else "miss_ratio")
        for name in (x, y):
            if name not in self.columns:
                raise ValueError(f"there is no column {name!r} to plot; known are {', '.join(self.columns)}")
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(layout="constrained").subplots()
        for policy in dict.fromkeys(row.get("policy") for row in self._rows):
            points = sorted(
                (row[x], row[y]) for row in self._rows if row.get("policy") == policy and x in row and y in row
            )
            ax.plot([point[0] for point in points], [point[1] for point in points], marker=".", label=policy)
        ax.set(xlabel=x.replace("_", " "), ylabel=y.replace("_", " "), xscale="log")
        ax.set_ylim(bottom=0)
        ax.legend()
        return ax

    def _cells(self) -> list[list[str]]:
        def text(value: object) -> str:
            if value is None:
                return ""
            return f"{value:.4g}" if isinstance(value, float) else str(value)

        return [[text(row.get(name)) for name in self.columns] for row in self._rows]

    def _repr_html_(self) -> str:
        def line(tag: str, cells: Sequence[str]) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line("td", cells) for cells in self._cells())
        return f"<table><thead>{line('th', self.columns)}</thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        lines = [self.columns, *self._cells()]
        if not self._rows:
            return "Result([])"
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def simulate(
    trace: object,
    policy: Policy | Sequence[Policy] | None = None,
    memory: Size | Sequence[Size] | None = None,
    device: str | os.PathLike[str] | Sequence[str] | None = None,
    handlers: int | Sequence[int] | None = None,
    **options: object,
) -> Result:
    """Replays a trace under policies, as ``forebay sim`` does.

    Without a device the result is miss ratios; with one it is throughput and response times.

    :param trace: a file in a format that ``forebay trace info`` knows; a synthetic trace, as
        ``"zipf:objects=1000,requests=100000"``; an object with ``__arrow_c_stream__`` whose columns
        are ``file`` and, if they are there, ``offset``, ``length``, ``time``, ``operation``,
        ``handler``, ``context``; a buffer of whole numbers, as a numpy array: the objects that are
        read; or a :class:`Trace`
    :param policy: a name, ``"opt"`` for Belady's bound, a class derived from :class:`Replacement`, or
        several of these; by default ``"lru"``, and ``"auto"`` with a device
    :param memory: the sizes of the cache; by default a tenth of the trace's distinct blocks
    :param device: a name that ``forebay device list`` shows, a description, or several of these
    :param handlers: how many handlers run the trace's tasks at once
    :param options: further options of ``forebay sim``, as ``seed=7`` or ``block_bytes="64KiB"``
    :raises ValueError: an input makes no sense; the message names it
    :raises TypeError: an option is not known; the message names those that are
    """
    policies = _several(policy)
    own = [policy for policy in policies if not isinstance(policy, str)]
    names = [policy for policy in policies if isinstance(policy, str)]
    if own and device is not None:
        raise ValueError(f"{own[0].__name__} is replayed without time: leave out device")
    where = _Where(trace, {"memory": _sizes(memory), "device": device, "handlers": handlers, **options})
    if device is None and "no_opt" not in options:
        where.options["no_opt"] = True
    rows: list[Row] = []
    if names or not own:
        rows = where.run({"policy": names or None})
    for one in own:
        rows += where.run_own(one)
    order = {_name(policy): place for place, policy in enumerate(policies)}
    return Result(sorted(rows, key=lambda row: order.get(row["policy"], -1)) if own else rows)


def curve(
    trace: object,
    policy: Policy | Sequence[Policy] = "lru",
    memory: Size | Sequence[Size] | None = None,
    points: int | None = None,
    **options: object,
) -> Result:
    """Whole miss-ratio curves, as ``forebay sim --curve`` has them.

    :param trace: as for :func:`simulate`
    :param policy: as for :func:`simulate`; the curve of ``"lru"`` takes one pass over the trace
    :param memory: the sizes; by default ``points`` of them, in equal ratios from one block to all
    :param points: how many sizes there are without ``memory``
    :param options: further options of ``forebay sim``, as ``sample="1%"``
    """
    policies = _several(policy)
    names = [policy for policy in policies if isinstance(policy, str)]
    own = [policy for policy in policies if not isinstance(policy, str)]
    where = _Where(trace, {"memory": _sizes(memory), **options})
    rows = where.run({"curve": names, "points": points}) if names else []
    if own:
        sampled = [name for name in ("sample", "sample_size") if options.get(name) is not None]
        if sampled:
            raise ValueError(f"the curve of {own[0].__name__} is exact: leave out {sampled[0]}")
        sizes = where.run({"curve": ["lru"], "points": points})
        where.options["memory"] = [f"{row['capacity_blocks']}b" for row in sizes]
        for one in own:
            rows += where.run_own(one)
    return Result(rows)


class _Where:
    """A trace with options, to be simulated."""

    def __init__(self, trace: object, options: dict[str, object]) -> None:
        self.options = options
        self.trace: Trace | None = None
        if isinstance(trace, (str, bytes, os.PathLike)):
            self.name = os.fsdecode(trace)
        else:
            self.trace, self.name = _in_memory(trace), type(trace).__name__

    def run(self, more: dict[str, object]) -> list[Row]:
        line = arguments("simulate", "sim", {**self.options, **more})
        rows: list[Row] = json.loads(_forebay.simulate([*line, "--", self.name], self.trace))
        return rows

    def run_own(self, policy: type[Replacement]) -> list[Row]:
        line = arguments("simulate", "sim", self.options)
        args = [*line, "--", self.name]
        rows: list[Row] = json.loads(_forebay.simulate_own(args, self.trace, policy.__name__, policy))
        return rows


def _in_memory(trace: object) -> Trace:
    if isinstance(trace, Trace):
        return trace
    if hasattr(trace, "__arrow_c_stream__"):
        return Trace.of_stream(trace)
    try:
        memoryview(trace)  # type: ignore[arg-type]
    except TypeError:
        kind = type(trace).__name__
        raise TypeError(
            f"a trace is a path, an object with __arrow_c_stream__ or a buffer of whole numbers, not {kind}"
        ) from None
    return Trace.of_ids(trace)


def _several(policy: Policy | Sequence[Policy] | None) -> list[Policy]:
    if policy is None:
        return []
    several = [policy] if isinstance(policy, (str, type)) or not isinstance(policy, Sequence) else list(policy)
    if not several:
        raise ValueError("option 'policy' is an empty list: leave it out for the default")
    for one in several:
        if isinstance(one, Replacement):
            name = type(one).__name__
            raise TypeError(f"give the class {name}, not an object of it: one is made for each size of the cache")
        if not isinstance(one, str) and not (isinstance(one, type) and issubclass(one, Replacement)):
            raise TypeError(f"a policy is a name or a class derived from forebay.Replacement, not {one!r}")
    return several


def _name(policy: Policy) -> str:
    return policy if isinstance(policy, str) else policy.__name__


def _sizes(memory: Size | Sequence[Size] | None) -> list[str] | None:
    if memory is None:
        return None
    several = list(memory) if isinstance(memory, Sequence) and not isinstance(memory, str) else [memory]
    return [_size(size) for size in several]


def _size(size: Size) -> str:
    if isinstance(size, str):
        return size
    if isinstance(size, bool) or not hasattr(size, "__float__"):
        raise TypeError(f"a size is a share, a number of blocks, or a text as '512MiB', not {size!r}")
    if hasattr(size, "__index__"):
        return f"{size}b"
    return f"{float(size) * 100!r}%"
