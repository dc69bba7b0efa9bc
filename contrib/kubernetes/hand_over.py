#!/usr/bin/env python3
"""Hands a FUSE mount from a privileged container to one without privileges.

The privileged container opens /dev/fuse, mounts, and waits at a Unix socket in a folder that both
containers have:

    hand_over.py mount --uid 65534 /mnt/data /run/forebay/socket

The mount point is made if it is missing; the folder that it is in must be there. It should be a
folder in a volume, not the volume itself: a container that starts while something is mounted over
its volume gets that mount alone, and none that comes later. It should not lie deeper than that,
since an application that may write to the volume can put a link in place of a folder on the way.
At the mount point itself a link is refused.

The other one receives the descriptor and becomes the program that serves it, in which {} is the
mount point:

    hand_over.py serve /run/forebay/socket -- forebay mount s3://bucket {}

If the server ends, the next one that asks gets a new mount at the same place. SIGTERM unmounts.
"""

import argparse
import contextlib
import ctypes
import os
import signal
import socket
import sys
import time

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MNT_DETACH, UMOUNT_NOFOLLOW = 2, 8
# The files are data. Without MS_NOEXEC the application may run programs of the mount.
FLAGS = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
LIBC = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def mount_of(descriptor: int) -> bytes:
    """The id of the mount that an open folder is in, for which no server is asked."""
    with open(f"/proc/self/fdinfo/{descriptor}", "rb") as lines:
        return next(line.split()[1] for line in lines if line.startswith(b"mnt_id:"))


def kind_of(mount: bytes) -> bytes:
    """The type of the mount with an id."""
    with open("/proc/self/mountinfo", "rb") as table:
        for line in table:
            if line.split()[0] == mount:
                return line.partition(b" - ")[2].split()[0]
    return b""


class Point:
    """A mount point: a name in a folder that is opened once.

    Nothing here looks into a mount, since its server may hang. And nothing follows a link at the
    name, which the application may have put there: the mounter may do what the application may not.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        folder, self.name = os.path.split(self.path)
        self.folder = os.open(folder, os.O_PATH | os.O_DIRECTORY)

    def open(self) -> int:
        return os.open(self.name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=self.folder)

    def is_ours(self) -> bool:
        """Whether a mount of Forebay lies there, and not only the volume beneath it."""
        try:
            place = self.open()
        except (FileNotFoundError, NotADirectoryError):
            return False
        here = mount_of(place)
        os.close(place)
        return here != mount_of(self.folder) and kind_of(here) == b"fuse.forebay"

    def unmount(self) -> None:
        """Takes off mounts of Forebay, a dead one included."""
        place = os.fsencode(f"/proc/self/fd/{self.folder}/{self.name}")
        while self.is_ours():
            check(LIBC.umount2(place, MNT_DETACH | UMOUNT_NOFOLLOW), f"cannot unmount {self.path}")

    def mount(self, uid: int) -> int:
        """Mounts for a server of the user `uid`; returns the descriptor of the mount."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.name, 0o755, dir_fd=self.folder)
        try:
            place = self.open()
        except NotADirectoryError:
            raise NotADirectoryError(f"{self.path} is a link or a file: mount on a folder") from None
        device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode=40000,user_id={uid},group_id={uid},allow_other,default_permissions"
        target = f"/proc/self/fd/{place}".encode()
        try:
            check(LIBC.mount(b"forebay", target, b"fuse.forebay", FLAGS, options.encode()), f"cannot mount {self.path}")
        except OSError:
            os.close(device)
            raise
        finally:
            os.close(place)
        return device


def hand_over(point: Point, path: str, uid: int) -> None:
    """Waits for servers, and gives each a new mount."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        # The server may write to the folder of the socket, so that no link is followed here either.
        os.umask(0o177)
        listener.bind(path)
        os.umask(0o022)
        os.chown(path, uid, uid, follow_symlinks=False)
        listener.listen()
        while True:
            server, _ = listener.accept()
            try:
                with server:
                    give(point, server, uid)
            except OSError as error:
                print(f"hand_over.py: {error}", file=sys.stderr, flush=True)


def give(point: Point, server: socket.socket, uid: int) -> None:
    """Gives a server a new mount."""
    point.unmount()
    device = point.mount(uid)
    try:
        socket.send_fds(server, [b"fuse"], [device])
    finally:
        # From here on the mount lives as long as its server.
        os.close(device)


def serve(path: str, command: list[str]) -> None:
    """Receives a mount and becomes its server."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mounter:
        while True:
            try:
                mounter.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.2)
        _, descriptors, _, _ = socket.recv_fds(mounter, 16, 1)
    if not descriptors:
        sys.exit("hand_over.py: the mounter could not mount; its log says why")
    device = descriptors[0]
    os.set_inheritable(device, True)
    command = [word.replace("{}", f"/dev/fd/{device}") for word in command]
    os.execvp(command[0], command)


def main() -> None:
    parser = argparse.ArgumentParser(description="Hand a FUSE mount to a container without privileges.")
    roles = parser.add_subparsers(dest="role", required=True)
    mounter = roles.add_parser("mount", help="mount, and hand the descriptor over")
    mounter.add_argument("--uid", type=int, default=65534, help="the user of the server")
    mounter.add_argument("point")
    mounter.add_argument("socket")
    server = roles.add_parser("serve", help="receive the descriptor, and run a program with it")
    server.add_argument("socket")
    server.add_argument("command", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    if chosen.role == "serve":
        words = chosen.command[1:] if chosen.command[:1] == ["--"] else chosen.command
        serve(chosen.socket, words)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    point = Point(chosen.point)
    try:
        hand_over(point, chosen.socket, chosen.uid)
    finally:
        point.unmount()


if __name__ == "__main__":
    main()
