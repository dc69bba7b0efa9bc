"""A file system for fsspec: any other one, read through a cache that looks ahead.

>>> import pandas
>>> pandas.read_parquet("forebay::s3://bucket/table.parquet")  # doctest: +SKIP
>>> pandas.read_parquet(  # doctest: +SKIP
...     "forebay::s3://bucket/table.parquet",
...     storage_options={"s3": {"anon": True}, "forebay": {"memory": "4GiB"}},
... )

Forebay itself reads files, S3, Google, Azure and the web; fsspec's own options for these are
translated. Any other file system is read by its ``cat_file``.
"""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fsspec import filesystem
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.chained import ChainedFileSystem

from . import _forebay
from ._cache import Cache
from ._file import File
from ._translate import Place, misplaced, place

__all__ = ["ForebayFileSystem"]

#: Threads that wait for caches on behalf of coroutines.
_THREADS = 32

#: Options of fsspec itself, which are not the cache's.
_OF_FSSPEC = (
    "asynchronous",
    "batch_size",
    "loop",
    "skip_instance_cache",
    "use_listings_cache",
    "listings_expiry_time",
    "max_paths",
)


class ForebayFileSystem(AsyncFileSystem, ChainedFileSystem):  # type: ignore[misc]
    """Another file system through a cache in this process. It is read-only."""

    protocol = "forebay"
    async_impl = True
    cachable = True
    mirror_sync_methods = True
    root_marker = ""
    # The URL behind `forebay::`, which differs where the file system is the same.
    _strip_tokenize_options = ("fo",)

    def __init__(
        self,
        target_protocol: str | None = None,
        target_options: Mapping[str, Any] | None = None,
        fs: Any = None,
        fo: str | None = None,
        cache: Cache | None = None,
        **options: Any,
    ) -> None:
        """A file system in front of another one.

        :param target_protocol: the protocol of the other one, as ``"s3"``
        :param target_options: its options, as it takes them itself
        :param fs: the other one itself, which is read by its ``cat_file``
        :param fo: given by fsspec: the URL behind ``forebay::``
        :param cache: a cache that is there already; paths are then those in it
        :param options: options of :class:`forebay.Cache`, as ``memory="4GiB"``
        """
        of_fsspec = {name: options.pop(name) for name in _OF_FSSPEC if name in options}
        super().__init__(**of_fsspec)
        if fs is None and target_protocol is None and cache is None:
            raise ValueError(
                "the file system to read from is missing: write forebay::s3://bucket/key, or give target_protocol"
            )
        if theirs := misplaced(target_protocol, options):
            example = f"storage_options={{{target_protocol!r}: {{{theirs[0]!r}: ...}}, 'forebay': {{...}}}}"
            raise TypeError(
                f"{', '.join(map(repr, theirs))}: options of {target_protocol}, not of the cache; give them below its "
                f"name, as {example}, or in target_options"
            )
        self.target_protocol = target_protocol
        self._target = fs
        self._options = options
        self._target_options = dict(target_options or {})
        self._given = cache
        self._caches: dict[str, Cache] = {}
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        path = os.fspath(path)
        for start in ("forebay::", "forebay://"):
            path = path.removeprefix(start)
        return path.rstrip("/") or path[:1]

    def _place(self, path: str) -> tuple[Cache, str]:
        """The cache that a path is read through, and the path in it."""
        path = self._strip_protocol(path)
        if self._given is not None:
            return self._given, path
        if self._target is not None or self.target_protocol is None:
            return self._cache_of(None), self._target._strip_protocol(path)
        found, inside = place(self.target_protocol, self._target_options, path)
        return self._cache_of(found), inside

    def _cache_of(self, found: Place | None) -> Cache:
        source = "" if found is None else found.source
        self._check_process()
        with self._lock:
            cache = self._caches.get(source)
            if cache is None:
                cache = self._caches[source] = self._opened(found)
            return cache

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                "the cache belongs to the process that this one was forked from: use forebay.mount() in the parent, "
                "and read the folder here"
            )

    def _opened(self, found: Place | None) -> Cache:
        if found is None:
            target = self._target or filesystem(self.target_protocol, **self._target_options)
            return own(target, self._options)
        return Cache(found.source, settings=found.settings, **{**found.options, **self._options})

    async def _run(self, work: Any, *args: Any) -> Any:
        self._check_process()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="forebay-fsspec")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        [found] = await self._run(self._cat, [path], [start], [end])
        return bytes(found)

    async def _cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: Any = None,
        batch_size: Any = None,
        on_error: str = "return",
        **_: Any,
    ) -> list[Any]:
        starts = starts if isinstance(starts, list) else [starts] * len(paths)
        ends = ends if isinstance(ends, list) else [ends] * len(paths)
        if len(starts) != len(paths) or len(ends) != len(paths):
            raise ValueError(f"{len(paths)} paths have {len(starts)} starts and {len(ends)} ends: give one of each")
        try:
            found: list[Any] = await self._run(self._cat, paths, starts, ends)
        except Exception:
            if on_error != "return":
                raise
            # One by one, to see which of them fail.
            each = (self._cat_file(path, start, end) for path, start, end in zip(paths, starts, ends))
            found = await asyncio.gather(*each, return_exceptions=True)
        return found

    def _cat(self, paths: list[str], starts: list[int | None], ends: list[int | None]) -> list[bytes]:
        """Reads ranges, all of a cache at once."""
        found: list[bytes] = [b""] * len(paths)
        wanted: dict[int, tuple[Cache, list[tuple[int, tuple[str, int, int | None]]]]] = {}
        for number, (path, start, end) in enumerate(zip(paths, starts, ends)):
            cache, inside = self._place(path)
            start, length = _range(cache, inside, start, end)
            wanted.setdefault(id(cache), (cache, []))[1].append((number, (inside, start, length)))
        for cache, ranges in wanted.values():
            read = cache.read_ranges([one for _, one in ranges])
            for (number, _range_of), data in zip(ranges, read):
                found[number] = data
        return found

    async def _info(self, path: str, refresh: bool = False, **_: Any) -> dict[str, Any]:
        cache, inside = self._place(path)
        if refresh:
            await self._run(cache.refresh, inside)
        info: dict[str, Any] = await self._run(cache.info, inside)
        return {**info, "name": self._strip_protocol(path)}

    async def _ls(self, path: str, detail: bool = True, refresh: bool = False, **_: Any) -> list[Any]:
        path = self._strip_protocol(path)
        cache, inside = self._place(path)
        if refresh:
            await self._run(cache.refresh, inside)
        try:
            entries: list[dict[str, Any]] = await self._run(cache.list, inside)
            above = path.rstrip("/")
            named = [{**entry, "name": f"{above}/{entry['name']}" if above else entry["name"]} for entry in entries]
        except NotADirectoryError:
            named = [await self._info(path)]
        return named if detail else [entry["name"] for entry in named]

    def _open(self, path: str, mode: str = "rb", **_: Any) -> File:
        if mode != "rb":
            raise _read_only()
        cache, inside = self._place(path)
        return cache.open(inside)

    async def _get_file(self, rpath: str, lpath: str, **_: Any) -> None:
        if os.path.isdir(lpath):
            return
        data = await self._cat_file(rpath)
        with open(lpath, "wb") as file:
            file.write(data)

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forgets what was told of names: of a path and all below it, or of all."""
        if path is not None:
            cache, inside = self._place(path)
            cache.refresh(inside)
        else:
            with self._lock:
                caches = [*self._caches.values(), *([self._given] if self._given else [])]
            for cache in caches:
                cache.refresh()
        super().invalidate_cache(path)

    def created(self, path: str) -> Any:
        """Not known."""
        raise NotImplementedError("sources have no time of creation")

    def modified(self, path: str) -> Any:
        """The time of the last change."""
        import datetime

        return datetime.datetime.fromtimestamp(self.info(path)["mtime"], datetime.UTC)

    def ukey(self, path: str) -> str:
        """Tells the version of a file from others."""
        return str(self.info(path).get("version", path))

    def hint(self, wanted: Any, list: str = "default", mode: str = "append") -> None:
        """Tells what will be read next, as :meth:`forebay.Cache.hint` does."""
        by_cache: dict[int, tuple[Cache, Any]] = {}
        for one in wanted:
            path, start, end = one if isinstance(one, tuple) else (one, 0, None)
            cache, inside = self._place(path)
            by_cache.setdefault(id(cache), (cache, []))[1].append((inside, start, end))
        for cache, wants in by_cache.values():
            cache.hint(wants, list=list, mode=mode)

    def stats(self) -> dict[str, Any]:
        """The counters of each cache, by its source."""
        return {source: cache.stats() for source, cache in self._caches.items()}

    def close(self) -> None:
        """Closes the caches. Later reads open them anew."""
        with self._lock:
            caches, self._caches = self._caches, {}
            threads, self._threads = self._threads, None
        for cache in caches.values():
            cache.close()
        if threads is not None:
            threads.shutdown(wait=False)

    def __reduce__(self) -> Any:
        if self._given is not None:
            raise TypeError("a file system over a cache of this process cannot be pickled: give target_protocol")
        return super().__reduce__()

    async def _refused(self, *_: Any, **__: Any) -> None:
        raise _read_only()

    _rm_file = _rm = _cp_file = _pipe_file = _put_file = _mkdir = _makedirs = _refused
    touch = mkdir = makedirs = rmdir = rm_file = mv = lambda self, *_, **__: _raise(_read_only())


def _read_only() -> OSError:
    return OSError(errno.EROFS, "forebay only reads: write by the file system behind it")


def _raise(error: Exception) -> None:
    raise error


def _range(cache: Cache, path: str, start: int | None, end: int | None) -> tuple[int, int | None]:
    """A range as offset and length; those of fsspec count from the end if they are negative."""
    if (start or 0) < 0 or (end or 0) < 0:
        size = cache.info(path)["size"]
        start = max(size + start, 0) if start is not None and start < 0 else start
        end = max(size + end, 0) if end is not None and end < 0 else end
    first = start or 0
    return first, None if end is None else max(end - first, 0)


def own(target: Any, options: Mapping[str, object]) -> Cache:
    """A cache over a file system of Python."""
    from ._options import arguments

    line = arguments("forebay", "cache", options)
    return Cache._over(_forebay.Cache.of_filesystem(line, _Target(target)))


class _Target:
    """The questions of the cache to a file system of Python. It calls from threads of its own."""

    def __init__(self, target: Any) -> None:
        self.target = target
        protocol = target.protocol if isinstance(target.protocol, str) else target.protocol[0]
        self.name = f"{protocol}://"

    def info(self, path: str) -> tuple[bool, int, float, str]:
        """Whether it is a folder, its size, its time, and a text that changes with its bytes."""
        return self._facts(self.target.info(path))

    def list(self, path: str) -> list[tuple[str, bool]]:
        """Names, and whether they are folders."""
        entries = (
            self.target.ls(path, detail=True, refresh=True)
            if path
            else self.target.ls(self.target.root_marker, detail=True)
        )
        named = ((entry["name"].rstrip("/").rsplit("/", 1)[-1], entry["type"] == "directory") for entry in entries)
        return [(name, folder) for name, folder in named if name]

    def forget(self, path: str) -> None:
        """Drops what the file system remembers of names."""
        # Others drop a path and those above it, not those below.
        self.target.invalidate_cache()

    def read(self, path: str, start: int, end: int) -> bytes:
        """A range."""
        return bytes(self.target.cat_file(path, start=start, end=end))

    @staticmethod
    def _facts(info: Mapping[str, Any]) -> tuple[bool, int, float, str]:
        folder = info["type"] == "directory"
        time = next(
            (
                info[name]
                for name in ("mtime", "modified", "LastModified", "last_modified", "created")
                if info.get(name)
            ),
            0,
        )
        seconds = time.timestamp() if hasattr(time, "timestamp") else time if isinstance(time, (int, float)) else 0
        tag = next(
            (str(info[name]) for name in ("ETag", "etag", "md5", "checksum", "sha256", "version") if info.get(name)), ""
        )
        return folder, int(info.get("size") or 0), float(seconds), tag
