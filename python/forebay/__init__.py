"""A read cache that looks ahead.

- :class:`Cache` reads through a cache in this process.
- :func:`mount` shows a source as a folder, for unmodified programs and for several processes.
- :func:`simulate` and :func:`curve` replay traces under policies, your own among them.
- ``forebay.fsspec`` is the file system ``forebay::s3://bucket/key``, and ``forebay.torch`` tells a
  cache the order of an epoch.

Options have the names and the values of the command ``forebay``, with underscores for dashes.
"""

import atexit

from . import _forebay
from ._cache import Cache
from ._file import File
from ._forebay import __version__
from ._mount import Mount, mount
from .sim import Replacement, Result, Trace, curve, simulate

__all__ = [
    "Cache",
    "File",
    "Mount",
    "Replacement",
    "Result",
    "Trace",
    "__version__",
    "curve",
    "mount",
    "simulate",
]

# Threads of caches call file systems of Python; none may do so once Python ends.
atexit.register(_forebay.end)
