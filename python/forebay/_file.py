"""Open files."""

from __future__ import annotations

import io
import operator
import os
import threading
from typing import TYPE_CHECKING, Any

from . import _forebay

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from ._cache import Cache

#: Bytes that a line is looked for in at a time.
_LINE = 64 << 10


class File(io.RawIOBase):
    """A file that is read through a cache; one version of it.

    Several threads may read it at once, with and without a position of their own. A read takes its
    position and moves it on before it waits, so that every read gets the bytes that it asked for.
    """

    def __init__(self, cache: Cache, file: _forebay.File, name: str) -> None:
        self._cache: Cache | None = cache
        self._file: _forebay.File | None = file
        self._position = 0
        self._lock = threading.Lock()
        #: The path in the cache.
        self.name = name
        #: The length in bytes.
        self.size = file.size
        self.mode = "rb"

    def __repr__(self) -> str:
        return f"<forebay.File {self.name!r}, {self.size} bytes>"

    def _open(self) -> _forebay.File:
        if self._file is None:
            raise ValueError("the file is closed: open it again")
        return self._file

    def _take(self, length: int | None) -> tuple[int, int]:
        """The range of the next read of so many bytes; the position is behind it from now on."""
        length = None if length is None else operator.index(length)
        with self._lock:
            start = self._position
            rest = max(self.size - start, 0)
            taken = rest if length is None or length < 0 else min(length, rest)
            self._position = start + taken
            return start, taken

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes: ``size`` of them, or all; fewer at the end."""
        file = self._open()
        start, taken = self._take(size)
        return file.read_at(start, taken)

    def readall(self) -> bytes:
        """All bytes from the position on."""
        return self.read()

    def read_at(self, offset: int, length: int | None = None) -> bytes:
        """Bytes at an offset; the position stays."""
        return self._open().read_at(offset, length)

    def read_buffer(self, size: int | None = -1) -> bytes | memoryview:
        """As :meth:`read`, but where possible a read-only view of the cache's memory, not a copy.

        The view holds the cache's blocks until it goes. All views together hold at most a quarter
        of the memory; beyond that they are copies.
        """
        file = self._open()
        start, taken = self._take(size)
        return file.view_at(start, taken)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fills a buffer with the next bytes; returns how many."""
        file = self._open()
        view = memoryview(buffer).cast("B")
        if view.readonly:
            raise TypeError("the buffer must be writable")
        start, taken = self._take(len(view))
        return file.read_into(start, view[:taken])

    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line, with its end."""
        limit = self.size if size is None or size < 0 else size
        found = b""
        while len(found) < limit:
            piece = self.read(min(_LINE, limit - len(found)))
            if not piece:
                break
            end = piece.find(b"\n") + 1
            if end:
                self.seek(end - len(piece), os.SEEK_CUR)
                return found + piece[:end]
            found += piece
        return found

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Moves the position; returns it."""
        self._open()
        offset = operator.index(offset)
        with self._lock:
            bases = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}
            if whence not in bases:
                raise ValueError(f"whence is 0, 1 or 2, not {whence}")
            position = bases[whence] + offset
            if position < 0:
                raise ValueError(f"a position is 0 or above, not {position}")
            self._position = position
            return position

    def write(self, data: object, /) -> int:
        """Refused."""
        raise io.UnsupportedOperation("forebay only reads: write by the file system behind it")

    def tell(self) -> int:
        """The position."""
        self._open()
        return self._position

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Closes the file."""
        self._file = self._cache = None
        super().close()

    def __enter__(self) -> File:
        self._open()
        return self

    def __reduce__(self) -> Any:
        raise TypeError("an open file cannot be pickled: pickle its path, and open it there")
