"""`forebay.mount`: folders, and what becomes of them."""

import errno
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import forebay
import pytest
from conftest import BUCKET, until
from control import FakeMount, Socket
from forebay.torch import Ordered


def mounted(path):
    return any(line.split()[1] == str(path) for line in Path("/proc/self/mounts").read_text().splitlines())


def test_a_folder_for_a_while(folder):
    place, made = folder
    with forebay.mount(place, memory="32MiB") as data:
        assert mounted(data.path)
        assert {name: Path(data, name).read_bytes() for name in os.listdir(data)} == made
        assert 16 << 20 < data.stats()["memory_bytes"] <= 32 << 20 and "streams" in data.explain()
    assert not mounted(data.path) and not os.path.exists(data.path)


def test_a_folder_of_ones_own(s3, objects, tmp_path, monkeypatch):
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    point = tmp_path / "point"
    point.mkdir()
    with forebay.mount(f"s3://{BUCKET}", point, memory="64MiB", endpoint=s3.endpoint, kernel_cache="off") as data:
        assert data.path == str(point) and (point / "odd").read_bytes() == objects["odd"]
    assert point.is_dir() and not mounted(point)
    with forebay.mount({"a": point, "b": f"s3://{BUCKET}"}, memory="64MiB", endpoint=s3.endpoint) as data:
        assert sorted(os.listdir(data)) == ["a", "b"]


def read(data, name):
    return Path(data.path, name).read_bytes()


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_workers_use_it(folder, way):
    place, made = folder
    with forebay.mount(place, memory="32MiB") as data:
        with multiprocessing.get_context(way).Pool(4) as pool:
            assert pool.starmap(read, [(data, name) for name in made]) == list(made.values())
            pool.close()
            pool.join()
        assert mounted(data.path), "a child that ends leaves it alone"
        copy = pickle.loads(pickle.dumps(data))
        copy.close()
        assert mounted(data.path)
    assert not mounted(data.path)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None])
def test_it_ends_with_its_process(folder, end):
    place, _ = folder
    program = textwrap.dedent(
        f"""
        import forebay, sys, time
        data = forebay.mount({str(place)!r}, memory="32MiB")
        print(data.path, flush=True)
        {"time.sleep(600)" if end else "sys.exit(3)"}
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    point = child.stdout.readline().strip()
    if end:
        assert mounted(point)
        child.send_signal(end)
    child.wait()
    child.stdout.close()
    if end in (signal.SIGINT, None):
        assert not os.path.exists(os.path.dirname(point)), "gone when the process is"
    until(lambda: not os.path.exists(os.path.dirname(point)))
    assert not mounted(point)


def test_a_mount_whose_file_another_process_has_open_goes_with_its_process(folder):
    program = textwrap.dedent(
        f"""
        import forebay, os, subprocess
        data = forebay.mount({str(folder[0])!r}, memory="32MiB")
        reader = subprocess.Popen(["sleep", "600"], stdin=open(os.path.join(data, "file-1")), stdout=subprocess.DEVNULL)
        print(data.path, reader.pid, flush=True)
        """
    )
    ended = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    point, reader = ended.stdout.split()
    until(lambda: not os.path.exists(os.path.dirname(point)))
    os.kill(int(reader), signal.SIGKILL)


def test_a_busy_mount_says_so_and_ends_later(folder, monkeypatch):
    place, made = folder
    monkeypatch.setattr(forebay._mount, "_PATIENCE", 0.5)
    data = forebay.mount(place, memory="32MiB")
    file = open(Path(data, "file-1"), "rb")
    with pytest.raises(OSError, match="is busy: close its files"):
        data.close()
    assert file.read() == made["file-1"]
    file.close()
    until(lambda: not os.path.exists(os.path.dirname(data.path)))
    assert not mounted(data.path)


def test_a_closed_mount_says_so(folder):
    data = forebay.mount(folder[0], memory="32MiB")
    assert not data.closed and repr(data) == f"<forebay.Mount at {data.path}>"
    data.close()
    data.close()
    assert data.closed and repr(data) == f"<forebay.Mount at {data.path}, closed>"
    calls = [data.stats, data.explain, data.hints, lambda: data.hint(["file-1"]), data.__enter__]
    calls.append(lambda: list(Ordered(range(1), ["file-1"], cache=data)))
    for call in calls:
        with pytest.raises(ValueError, match="the mount is closed"):
            call()


def test_a_killed_mount_says_so_and_leaves_nothing(folder):
    place, _ = folder
    with forebay.mount(place, memory="32MiB") as data:
        os.kill(data._process.pid, signal.SIGKILL)
        data._process.wait()
        for call in [lambda: data.hint(["file-1"]), data.hints, data.stats]:
            with pytest.raises(OSError, match="its forebay is gone; mount it again"):
                call()
    assert not mounted(data.path) and not os.path.exists(os.path.dirname(data.path))


def test_what_cannot_be_mounted(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for opened in [forebay.Cache, forebay.mount]:
        with pytest.raises(FileNotFoundError, match="no-such-folder") as missing:
            opened(tmp_path / "no-such-folder")
        assert missing.value.errno == errno.ENOENT
        with pytest.raises(ValueError, match="'much' for '--memory"):
            opened(tmp_path, memory="much")
        with pytest.raises(ValueError, match="known are auto, none"):
            opened(tmp_path, policy="psychic")
        with pytest.raises(TypeError, match="no option 'memroy'; known are"):
            opened(tmp_path, memroy="1GiB")
    for point, error in [("none", FileNotFoundError), ("file", NotADirectoryError), (".", OSError)]:
        with pytest.raises(error, match="folder") as refused:
            forebay.mount(tmp_path / "source", tmp_path / point)
        assert refused.value.errno
    with pytest.raises(TypeError) as unknown:
        forebay.mount(tmp_path, memroy="1GiB")
    known = str(unknown.value).split("known are ")[1].split(", ")
    assert "allow_other" in known and not {"daemon", "source", "mountpoint"} & set(known)
    for refused in ["daemon", "detached", "attached"]:
        with pytest.raises(TypeError, match="ends with this process"):
            forebay.mount(tmp_path, **{refused: True})
    made = [name for name in os.listdir("/tmp") if name.startswith("forebay-")]
    assert not [name for name in made if mounted(f"/tmp/{name}/mount")]


def test_hints_go_through_the_control_socket(monkeypatch):
    with Socket() as control:
        data = FakeMount(monkeypatch, control)
        data.hint([f"{data.path}/a", "b/c", (f"{data.path}/d", 10, 20), ("e", 5, None)], list="mine", mode="replace")
        assert control.lists == {
            "mine": [{"path": "a"}, {"path": "b/c"}, {"path": "d", "start": 10, "end": 20}, {"path": "e", "start": 5}]
        }
        data.hint(["f"], list="mine")
        assert control.lists["mine"][-1] == {"path": "f"} and len(control.lists["mine"]) == 5
        data.hint([], list="mine", mode="clear")
        assert control.lists == {}
        many = [f"file {number}" for number in range(25_000)]
        data.hint(many, list="long", mode="replace")
        assert [line["path"] for line in control.lists["long"]] == many
        assert all(size < 1 << 20 for size in control.sizes)
        control.refuses = True
        with pytest.raises(OSError, match="hints were refused with 400: there is no such list"):
            data.hint(["a"])
    with pytest.raises(OSError, match="hints cannot be told"):
        data.hint(["a"])


def test_a_mount_without_a_socket(folder, monkeypatch):
    place, _ = folder
    with forebay.mount(place, memory="32MiB", control="off") as data:
        with pytest.raises(OSError, match="it takes no hints, since it has no control socket"):
            data.hint(["file-1"])
    with pytest.raises(OSError, match="no forebay mount"):
        forebay.Mount(str(place), None, None).stats()


def test_a_real_mount_is_told(s3, objects, monkeypatch):
    """By its own socket, and by its folder alone as workers know it."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    names = [name for name in objects if 0 < len(objects[name]) < 2 << 20]
    with forebay.mount(f"s3://{BUCKET}", memory="64MiB", endpoint=s3.endpoint, kernel_cache="off") as data:
        data.hint([*names, data.path + "/nothing"], list="epoch")
        until(lambda: data.hints()[0]["fetched"] > 0 and data.hints()[0]["missing"] == 1)
        for name in names:
            assert Path(data, name).read_bytes() == objects[name]
        assert data.stats()["hints_used"] > 0 and data.stats()["hints_wasted"] == 0
        assert data.hints()[0]["missing_names"] == ["nothing"]
        order = [names[index] for index in Ordered(range(len(names)), names, cache=data.path, list="epoch")]
        assert order == names and data.hints()[0]["accepted"] == len(names)
        with pytest.raises(OSError, match="not the path of a file"):
            data.hint([data.path + "/.."])


def test_a_mount_is_told_names_that_are_no_text(tmp_path):
    """Both as bytes and as Python's texts of them."""
    names = [b"odd \xff", b"caf\xe9", "caf\u00e9".encode(), b"\xed\xb3\xbf"]
    made = {name: bytes([number]) * 20_000 for number, name in enumerate(names)}
    source = tmp_path / "source"
    source.mkdir()
    for name, content in made.items():
        (source / os.fsdecode(name)).write_bytes(content)
    with forebay.mount(source, memory="64MiB", kernel_cache="off") as data:
        data.hint([names[0], os.path.join(data.path, os.fsdecode(names[1])), os.path.join(os.fsencode(data), names[2])])
        assert list(Ordered(range(1), names[3:], cache=data, list="epoch")) == [0]
        until(lambda: sum(told["fetched"] for told in data.hints()) == 4 * 20_480)
        assert [told["missing"] for told in data.hints()] == [0, 0]
        for name, content in made.items():
            assert Path(data, os.fsdecode(name)).read_bytes() == content
        assert data.stats()["hints_wasted"] == 0
