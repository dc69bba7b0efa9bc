#!/usr/bin/env python3
"""Hands a FUSE mount from a privileged container to one without privileges.

The privileged container opens /dev/fuse, mounts, and waits at a Unix socket in a folder that both
containers have:

    hand_over.py mount --uid 65534 /mnt/data /run/forebay/socket

The mount point is made if it is missing. It should be a folder in a volume, not the volume itself:
a container that starts while something is mounted over its volume gets that mount alone, and none
that comes later.

The other one receives the descriptor and becomes the program that serves it, in which {} is the
mount point:

    hand_over.py serve /run/forebay/socket -- forebay mount s3://bucket {}

If the server ends, the next one that asks gets a new mount at the same place. SIGTERM unmounts.
"""

import argparse
import ctypes
import os
import re
import signal
import socket
import sys
import time

MS_RDONLY, MS_NOSUID, MS_NODEV, MNT_DETACH = 1, 2, 4, 2
LIBC = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def is_ours(point: str) -> bool:
    """Whether a mount of Forebay lies there, and not only the volume that it is mounted over."""
    kind = b""
    with open("/proc/self/mounts", "rb") as table:
        for _, place, it, *_ in map(bytes.split, table):
            # The table has spaces and the like as \040.
            place = re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), place)
            if place == os.fsencode(os.path.realpath(point)):
                kind = it
    return kind == b"fuse.forebay"


def unmount(point: str) -> None:
    """Takes off mounts of Forebay, a dead one included."""
    while is_ours(point):
        check(LIBC.umount2(os.fsencode(point), MNT_DETACH), f"cannot unmount {point}")


def mount(point: str, uid: int) -> int:
    """Mounts for a server of the user `uid`; returns the descriptor of the mount."""
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id={uid},group_id={uid},allow_other,default_permissions"
    flags = MS_RDONLY | MS_NOSUID | MS_NODEV
    check(LIBC.mount(b"forebay", os.fsencode(point), b"fuse.forebay", flags, options.encode()), f"cannot mount {point}")
    return device


def hand_over(point: str, path: str, uid: int) -> None:
    """Waits for servers, and gives each a new mount."""
    if os.path.exists(path):
        os.unlink(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        os.chown(path, uid, uid)
        os.chmod(path, 0o600)
        listener.listen()
        while True:
            server, _ = listener.accept()
            with server:
                unmount(point)
                os.makedirs(point, exist_ok=True)
                device = mount(point, uid)
                socket.send_fds(server, [b"fuse"], [device])
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
    try:
        hand_over(chosen.point, chosen.socket, chosen.uid)
    finally:
        unmount(chosen.point)


if __name__ == "__main__":
    main()
