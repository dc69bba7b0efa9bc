"""A mount's own answers: attributes of its root, and its control socket."""

from __future__ import annotations

import errno
import http.client
import json
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlencode

from ._cache import Want

_HINT = "/.well-known/forebay/hint"


class _Connection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, place: str) -> None:
        super().__init__("localhost", timeout=60)
        self._place = place

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._place)


def attribute(mount: str, name: str) -> str:
    """An attribute of a mount's root.

    :raises OSError: the folder is no mount, or its forebay is gone
    """
    try:
        return os.getxattr(mount, f"user.forebay.{name}").decode()
    except OSError as error:
        words = {
            errno.ENOTCONN: "its forebay is gone; mount it again",
            errno.ENODATA: f"it is no forebay mount, or one without {name}",
            errno.EOPNOTSUPP: "it is no forebay mount: give the folder that was mounted on",
        }
        if error.errno in words:
            raise OSError(error.errno, f"{mount}: {words[error.errno]}") from None
        raise


def document(mount: str, name: str) -> dict[str, Any]:
    """An attribute that is JSON."""
    value: dict[str, Any] = json.loads(attribute(mount, name))
    return value


def hint(mount: str, pieces: Iterable[list[Want]], list: str, mode: str) -> None:
    """Tells a mount what will be read next.

    :param pieces: paths below the mount's root, with the first byte and the end
    :raises OSError: the mount takes no hints, or refused these
    """
    before = 0
    with _connection(mount) as connection:
        for piece in pieces:
            query = urlencode({"list": list, "mode": mode})
            body = b"".join(_line(*want) for want in piece)
            _ask(connection, mount, "POST", f"{_HINT}?{query}", body, before)
            before += len(piece)
            mode = "append" if mode == "replace" else mode


def hints(mount: str) -> Any:
    """The lists that a mount was told."""
    with _connection(mount) as connection:
        return json.loads(_ask(connection, mount, "GET", _HINT, None))["lists"]


@contextmanager
def _connection(mount: str) -> Iterator[_Connection]:
    try:
        place = attribute(mount, "socket")
    except OSError as error:
        if error.errno == errno.ENODATA:
            words = (
                f"{mount}: it takes no hints, since it has no control socket: it is no forebay mount, or one without; "
                "mount it with --control unix:PATH"
            )
            raise OSError(errno.ENODATA, words) from None
        raise
    connection = _Connection(place)
    try:
        yield connection
    except (http.client.HTTPException, ConnectionError, FileNotFoundError, TimeoutError) as error:
        raise OSError(errno.EIO, f"{mount}: hints cannot be told at {place}: {error}") from error
    finally:
        connection.close()


def _ask(connection: _Connection, mount: str, method: str, path: str, body: bytes | None, before: int = 0) -> bytes:
    # A mount that refuses a request may answer before it has heard all of it.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.request(method, path, body, {"Content-Type": "application/jsonl"})
    answer = connection.getresponse()
    said = answer.read()
    if answer.status not in (200, 202):
        words = said.decode(errors="replace").strip()
        if before:
            words += f" ({before} names of this call were taken by the requests before this one)"
        raise OSError(errno.EIO, f"{mount}: hints were refused with {answer.status}: {words}")
    return said


def _line(path: str, start: int, end: int | None) -> bytes:
    want: dict[str, object] = {"path": path}
    if start or end is not None:
        want["start"] = start
    if end is not None:
        want["end"] = end
    return json.dumps(want).encode() + b"\n"
