"""A mount's own answers: attributes of its root, and its control socket."""

from __future__ import annotations

import errno
import http.client
import json
import os
import socket
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlencode

#: Hints that are told in a request.
_TOGETHER = 10_000


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


def hint(mount: str, wants: Iterable[tuple[str, int, int | None]], list: str, mode: str) -> None:
    """Tells a mount what will be read next.

    :param wants: paths below the mount's root, with the first byte and the end
    :raises OSError: the mount takes no hints, or refused these
    """
    try:
        place = attribute(mount, "socket")
    except OSError as error:
        if error.errno == errno.ENODATA:
            words = f"{mount}: it takes no hints, since it has no control socket; mount it with --control unix:PATH"
            raise OSError(errno.ENODATA, words) from None
        raise
    connection = _Connection(place)
    try:
        for body in _bodies(wants):
            path = f"/.well-known/forebay/hint?{urlencode({'list': list, 'mode': mode})}"
            connection.request("POST", path, body, {"Content-Type": "application/jsonl"})
            answer = connection.getresponse()
            words = answer.read().decode(errors="replace").strip()
            if answer.status != 202:
                raise OSError(errno.EIO, f"{mount}: hints were refused with {answer.status}: {words}")
            mode = "append"
    except (http.client.HTTPException, ConnectionError, FileNotFoundError, TimeoutError) as error:
        raise OSError(errno.EIO, f"{mount}: hints cannot be told at {place}: {error}") from error
    finally:
        connection.close()


def _bodies(wants: Iterable[tuple[str, int, int | None]]) -> Iterator[bytes]:
    """Requests of JSON lines, at least one."""
    lines: list[bytes] = []
    said = False
    for path, start, end in wants:
        want: dict[str, object] = {"path": path}
        if start or end is not None:
            want.update({"start": start, "end": end} if end is not None else {"start": start})
        lines.append(json.dumps(want).encode() + b"\n")
        if len(lines) == _TOGETHER:
            yield b"".join(lines)
            lines, said = [], True
    if lines or not said:
        yield b"".join(lines)
