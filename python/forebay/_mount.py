"""Mounts that this process holds."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
import weakref
from collections.abc import Iterable
from importlib import metadata
from typing import Any

from . import _control
from ._cache import Sources, Want, Wanted, pieces, sources
from ._options import arguments

#: Seconds to wait for a mount to end before saying that it is busy.
_PATIENCE = 10.0

#: The same when this process ends.
_PATIENCE_AT_EXIT = 1.0

#: Options of the command that have no meaning here: what they say is an argument, or is refused.
_NOT_HERE = ("daemon", "source", "mountpoint")


def command() -> str:
    """The path of the command ``forebay`` that came with this module."""
    try:
        files = metadata.files("forebay") or []
    except metadata.PackageNotFoundError:
        files = []
    places = [str(file.locate()) for file in files if file.parts[-2:] == ("bin", "forebay")]
    places.append(os.path.join(sysconfig.get_path("scripts"), "forebay"))
    found = next((place for place in places if os.access(place, os.X_OK)), None) or shutil.which("forebay")
    if found is None:
        raise FileNotFoundError("the command 'forebay' is missing: install this package with pip, which brings it")
    return found


#: The mounts that this process holds.
_HELD: weakref.WeakSet[Mount] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Ends mounts that nobody closed. One that is busy ends by itself, and removes its folder."""
    for held in list(_HELD):
        with contextlib.suppress(OSError):
            held._end(_PATIENCE_AT_EXIT)


class Mount:
    """A source as a folder. Use :func:`mount`."""

    def __init__(self, path: str, process: subprocess.Popen[bytes] | None, own_folder: str | None) -> None:
        #: The folder.
        self.path = path
        self._process = process
        self._own_folder = own_folder
        self._holder = os.getpid()
        self._closed = False
        if process is not None:
            _HELD.add(self)

    def stats(self) -> dict[str, Any]:
        """The counters, as ``forebay stats --json`` has them."""
        self._check()
        return _control.document(self.path, "stats")

    def explain(self) -> dict[str, Any]:
        """The reasons, as ``forebay explain --json`` has them."""
        self._check()
        return _control.document(self.path, "explain")

    def hint(self, wanted: Iterable[Wanted], list: str = "default", mode: str = "append") -> None:
        """Tells the mount what will be read next, in order. Paths are below the mount, with or
        without its own path."""
        self._check()
        _control.hint(self.path, (below(self.path, piece) for piece in pieces(wanted)), list, mode)

    def hints(self) -> builtins.list[dict[str, Any]]:
        """The lists that were told, as :meth:`forebay.Cache.hints` has them."""
        self._check()
        lists: builtins.list[dict[str, Any]] = _control.hints(self.path)
        return lists

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._closed

    def _check(self) -> None:
        if self._closed:
            raise ValueError("the mount is closed: mount again")

    def close(self) -> None:
        """Unmounts. A forked child only forgets the mount, which its parent holds.

        :raises OSError: files of it are still open; it unmounts once they are closed
        """
        self._end(_PATIENCE)

    def _end(self, patience: float) -> None:
        self._closed = True
        process, self._process = self._process, None
        if process is None or os.getpid() != self._holder:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            raise OSError(
                f"{self.path} is busy: close its files, and leave it with every process; it unmounts then by itself"
            ) from None
        finally:
            if process.stdout is not None:
                process.stdout.close()
        if process.returncode < 0:
            # It was killed, and what it left behind answers nothing.
            with contextlib.suppress(FileNotFoundError):
                subprocess.run([_unmounter(), "-u", "-z", self.path], stderr=subprocess.DEVNULL, check=False)
        if self._own_folder is not None:
            _remove(self._own_folder)

    def __enter__(self) -> Mount:
        self._check()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        process = getattr(self, "_process", None)
        if process is not None and os.getpid() == self._holder and process.stdin is not None:
            process.stdin.close()

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<forebay.Mount at {self.path}{', closed' if self._closed else ''}>"

    def __reduce__(self) -> Any:
        # Another process of this machine uses the folder; it does not hold the mount.
        return Mount, (self.path, None, None)


def below(mount: str, piece: list[Want]) -> list[Want]:
    """Hints with paths below a mount."""
    return [(os.path.relpath(path, mount) if os.path.isabs(path) else path, start, end) for path, start, end in piece]


def mount(
    source: Sources,
    path: str | os.PathLike[str] | None = None,
    *,
    memory: str | int | None = None,
    policy: str | None = None,
    **options: object,
) -> Mount:
    """Mounts a source, with the command that came with this module. Use it with ``with``.

    >>> with mount("s3://bucket/prefix", memory="4GiB") as data:  # doctest: +SKIP
    ...     names = os.listdir(data.path)

    The mount ends with ``with``, and with this process however it ends. Other processes use its
    path meanwhile, as workers do.

    :param source: as for :class:`forebay.Cache`
    :param path: an empty folder to mount at; by default a new one that goes with the mount
    :param options: options of ``forebay mount``, as ``allow_other=True`` or ``kernel_cache="on"``
    :raises OSError: it cannot be mounted, or a source cannot be reached; ``FileNotFoundError`` if it is
        not there
    :raises ValueError: an option's value makes no sense
    :raises TypeError: an option is not known; the message names those that are
    """
    for refused in ("daemon", "detached", "attached"):
        if refused in options:
            raise TypeError(f"mount() has no option {refused!r}: a mount ends with this process")
    given = {"memory": memory, "policy": policy, **options}
    line = arguments("mount", "mount", given, without=_NOT_HERE)
    named = sources(source)
    folder = tempfile.mkdtemp(prefix="forebay-")
    try:
        point = os.path.join(folder, "mount") if path is None else os.path.abspath(os.fsdecode(path))
        if path is None:
            os.mkdir(point)
        if "control" not in options:
            line += ["--control", f"unix:{folder}/control"]
        process = _start([command(), "mount", f"--attached={folder}", *line, "--", *named, point])
    except BaseException:
        _remove(folder)
        raise
    return Mount(point, process, folder)


def _unmounter() -> str:
    """The program by which a user unmounts what FUSE left."""
    return shutil.which("fusermount3") or shutil.which("fusermount") or "fusermount3"


def _remove(folder: str) -> None:
    """Removes a mount's own folder, as the command itself does at its end unless it was killed: nothing
    is left in it but an empty mount point, and the socket of a mount that was killed."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, "control"))
    for empty in (os.path.join(folder, "mount"), folder):
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(empty)


def _start(args: list[str]) -> subprocess.Popen[bytes]:
    """Starts the command and waits until it has mounted."""
    pipe = subprocess.PIPE
    # A session of its own: Ctrl-C ends the program first, and so lets the mount end in order.
    process = subprocess.Popen(args, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
    assert process.stdout is not None and process.stderr is not None and process.stdin is not None
    try:
        ready = process.stdout.readline()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if not ready.startswith(b"ready"):
        said = process.stderr.read().decode(errors="replace").strip().removeprefix("error: ")
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
        process.wait()
        raise _refusal(ready.decode(errors="replace"), process.returncode, said)
    errors = process.stderr
    threading.Thread(target=_pass_on, args=(errors,), name="forebay-stderr", daemon=True).start()
    return process


def _refusal(answer: str, code: int, said: str) -> Exception:
    """The exception of a command that has not mounted: that of :class:`forebay.Cache`.

    :param answer: ``failed: ERRNO`` if a source or the mount point is the reason
    :param code: 2 if an option is
    """
    word, _, errno = answer.strip().partition(" ")
    if word == "failed:" and errno.isdigit():
        return OSError(int(errno), said)
    if code == 2:
        return ValueError(said)
    return OSError(said or "forebay ended before it had mounted, without a word")


def _pass_on(errors: Any) -> None:
    """Passes on what the mount says, as long as it runs."""
    with errors:
        for line in errors:
            os.write(2, line)
