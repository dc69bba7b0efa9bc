"""`forebay.Cache`: bytes, errors, options, threads, forks."""

import array
import gc
import io
import os
import pickle
import random
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import forebay
import psutil
import pytest
from conftest import BUCKET, until


@pytest.fixture
def cache(s3, objects):
    with forebay.Cache(f"s3://{BUCKET}", memory="64MiB", **s3.options) as cache:
        yield cache


def test_it_reads_what_is_there(cache, objects):
    for name, data in objects.items():
        assert cache.read(name) == data
        assert cache.read("/" + name) == data
        for offset, length in [(0, 10), (1, 4096), (4095, 2), (len(data) - 3, 10), (len(data) + 5, 10), (7, 0)]:
            if offset >= 0:
                assert cache.read(name, offset, length) == data[offset : offset + length], (name, offset, length)
    counters = cache.stats()
    assert counters["hits"] > 0 and counters["policy"].startswith("auto")
    assert "streams" in cache.explain()


def test_ranges_come_together(cache, objects):
    chance = random.Random(5)
    names = list(objects)
    ranges = []
    for _ in range(500):
        name = chance.choice(names)
        offset = chance.randrange(len(objects[name]) + 1)
        ranges.append((name, offset, chance.choice([None, 1, 100, 5000, 3_000_000])))
    read = cache.read_ranges(ranges)
    for (name, offset, length), data in zip(ranges, read):
        assert data == objects[name][offset:][: length if length is not None else None]
    assert cache.read_ranges([]) == []


def test_names(cache, objects):
    assert cache.info("odd")["size"] == len(objects["odd"]) and cache.info("odd")["type"] == "file"
    assert cache.info("folder")["type"] == "directory"
    assert {entry["name"] for entry in cache.list()} == {name.split("/")[0] for name in objects}
    [entry] = cache.list("folder/inner")
    assert (entry["name"], entry["size"], entry["type"]) == ("deep", 70_001, "file")


def test_files_have_a_position(cache, objects):
    data = objects["odd"]
    with cache.open("odd") as file:
        assert isinstance(file, io.RawIOBase) and file.readable() and file.seekable() and not file.writable()
        assert file.read(10) == data[:10] and file.tell() == 10
        assert file.seek(-5, io.SEEK_END) == len(data) - 5 and file.read() == data[-5:] and file.read(5) == b""
        file.seek(100)
        into = bytearray(1000)
        assert file.readinto(into) == 1000 and into == data[100:1100]
        assert file.read_at(7, 3) == data[7:10] and file.tell() == 1100
        view = file.read_buffer(4000)
        assert bytes(view) == data[1100:5100] and memoryview(view).readonly
        for wrong in [(-1, 0), (0, 9)]:
            with pytest.raises(ValueError):
                file.seek(*wrong)
    with pytest.raises(ValueError, match="closed"):
        file.read()
    lines = b"one\ntwo\n" + b"x" * 100_000 + b"\nend"
    assert list(io.BytesIO(lines)) == lines.splitlines(keepends=True)


def test_names_that_are_no_text(tmp_path):
    name = os.fsdecode(b"odd \xff")
    (tmp_path / name).write_bytes(b"data")
    with forebay.Cache(tmp_path, memory="32MiB") as cache:
        cache.hint([b"odd \xff", (name, 1, 3)])
        until(lambda: cache.hints()[0]["fetched"] > 0)
        assert [entry["name"] for entry in cache.list()] == [name] and cache.read(name) == b"data"
        assert cache.read(os.fsencode(name)) == b"data" and cache.info(b"odd \xff")["name"] == name
        assert cache.hints()[0]["accepted"] == 2 and cache.hints()[0]["missing"] == 0


def test_a_refused_read_moves_nothing(cache, objects):
    file = cache.open("odd")
    with pytest.raises(TypeError, match="writable"):
        file.readinto(b"abc")
    numbers = array.array("Q", [0] * 4)
    assert file.readinto(numbers) == 32 and numbers.tobytes() == objects["odd"][:32]


def test_it_may_be_closed_while_it_is_read(tmp_path):
    (tmp_path / "file").write_bytes(os.urandom(3 << 20))
    cache = forebay.Cache(tmp_path, memory="32MiB")
    view = cache.open("file").read_buffer(1000)

    def read():
        with pytest.raises(ValueError, match="the cache is closed"):
            while True:
                cache.read("file")
        return True

    with ThreadPoolExecutor(4) as pool:
        reads = [pool.submit(read) for _ in range(4)]
        cache.read("file")
        cache.close()
        assert all(read.result(timeout=60) for read in reads)
    assert bytes(view) == (tmp_path / "file").read_bytes()[:1000]


def test_lines(tmp_path):
    lines = b"one\n\ntwo\n" + b"x" * 200_000 + b"\nend"
    (tmp_path / "lines").write_bytes(lines)
    with forebay.Cache(tmp_path, memory="32MiB") as cache:
        assert list(cache.open("lines")) == lines.splitlines(keepends=True)
        text = io.TextIOWrapper(io.BufferedReader(cache.open("lines")))
        assert text.read() == lines.decode()


def test_views_are_the_caches_own_bytes_and_never_all_of_them(cache, objects):
    data = objects["large"]
    file = cache.open("large")
    file.read()
    views = []
    file.seek(0)
    kinds = set()
    for start in range(0, len(data), 4096):
        views.append(file.read_buffer(4096))
        kinds.add(type(views[-1]))
        assert views[-1] == data[start : start + 4096]
    assert memoryview in kinds
    # Other reads go on while all views are held.
    assert cache.read("odd") == objects["odd"]
    for start, view in zip(range(0, len(data), 4096), views):
        assert view == data[start : start + 4096]
    del views, view
    gc.collect()
    assert cache.read("large") == data


def test_views_hold_at_most_a_quarter(tmp_path):
    data = os.urandom(48 << 20)
    (tmp_path / "file").write_bytes(data)
    with forebay.Cache(tmp_path, memory="32MiB") as cache:
        file = cache.open("file")
        views = [file.read_buffer(4096) for _ in range(len(data) // 4096)]
        assert b"".join(views) == data
        lent = sum(len(view) for view in views if isinstance(view, memoryview))
        assert 0 < lent <= 8 << 20
        assert cache.read("file") == data


def test_a_position_is_taken_before_it_is_read(cache, objects):
    """Threads that share a handle get each byte once."""
    data = objects["large"]
    for _ in range(5):
        file = cache.open("large")
        with ThreadPoolExecutor(8) as pool:
            pieces = list(pool.map(lambda _: file.read(4096), range(len(data) // 4096)))
        assert sorted(pieces) == sorted(data[at : at + 4096] for at in range(0, len(data), 4096))


def test_threads_read_at_once(cache, objects):
    names = [name for name in objects if objects[name]]

    def read(seed):
        chance = random.Random(seed)
        for _ in range(200):
            name = chance.choice(names)
            offset, length = chance.randrange(len(objects[name])), chance.randrange(100_000)
            assert cache.read(name, offset, length) == objects[name][offset : offset + length]
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(8)))


def test_exceptions_are_pythons(cache, folder, tmp_path):
    for missing in ["nothing", "folder/nothing", "a/../b", "odd/below"]:
        with pytest.raises(FileNotFoundError):
            cache.read(missing)
    with pytest.raises(IsADirectoryError):
        cache.open("folder")
    with pytest.raises(NotADirectoryError):
        cache.list("odd")
    with pytest.raises(FileNotFoundError, match="no-such-folder"):
        forebay.Cache(tmp_path / "no-such-folder")
    with pytest.raises(ValueError, match="unknown scheme"):
        forebay.Cache("gopher://host/path")
    with pytest.raises(ValueError, match="known are auto, none"):
        forebay.Cache(tmp_path, policy="psychic")
    with pytest.raises(ValueError, match="'much'.*512MiB"):
        forebay.Cache(tmp_path, memory="much")
    with pytest.raises(ValueError, match="at least"):
        forebay.Cache(tmp_path, memory=4096)
    with pytest.raises(TypeError, match="no option 'memroy'; known are .*memory, .*patience"):
        forebay.Cache(tmp_path, memroy="1GiB")
    for wrong in [7, None, ["/srv"]]:
        with pytest.raises(TypeError):
            forebay.Cache(wrong)
    with pytest.raises(TypeError):
        cache.read(7)
    for offset, length in [(-1, None), (0, -1), (1 << 64, None)]:
        with pytest.raises(ValueError, match="a place in a file is a number of bytes"):
            cache.read("odd", offset, length)
    with pytest.raises(ValueError, match="option 'disk' is an empty list"):
        forebay.Cache(tmp_path, disk=[])
    with pytest.raises(ValueError, match="--disk-size is for a disk tier, and there is none"):
        forebay.Cache(tmp_path, disk_size="1GiB")
    for wrong in [("odd", 0), ("odd", 0, 1, 2), "odd"]:
        with pytest.raises(TypeError, match="none of path, offset and length"):
            cache.read_ranges([wrong])
    with pytest.raises(ValueError, match="'odd', -1, 5.*a place in a file"):
        cache.read_ranges([("odd", 0, 5), ("odd", -1, 5)])
    for wrong in ["a/b", "", "a=b"]:
        with pytest.raises(ValueError, match="cannot be the name of a source"):
            forebay.Cache({wrong: tmp_path})
    with pytest.raises(TypeError, match="settings are a mapping"):
        forebay.Cache(tmp_path, settings=["region"])
    with pytest.raises(TypeError, match="the setting 'region' must be a text, not int"):
        forebay.Cache(tmp_path, settings={"region": 1})
    with pytest.raises(ValueError, match="only reads"):
        cache.open("odd", "wb")
    with pytest.raises(ValueError, match="append, replace and clear"):
        cache.hint(["odd"], mode="prepend")
    with pytest.raises(TypeError, match="give \\[path\\]"):
        cache.hint("odd")


def test_denied(s3):
    wrong = {**s3.options, "settings": {**s3.settings, "aws_secret_access_key": "wrong"}}
    with pytest.raises(OSError, match="the secret key does not fit"):
        forebay.Cache(f"s3://{BUCKET}", **wrong)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_permission(tmp_path):
    """In a child that is not root, since root may read everything."""
    os.chmod(tmp_path, 0o755)
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "secret").chmod(0o600)
    for above in tmp_path.parents:
        if str(above).startswith("/tmp/"):
            above.chmod(0o755)
    child = os.fork()
    if child == 0:
        try:
            os.setuid(65534)
            os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = "/nonexistent"
            forebay.Cache(tmp_path, memory="32MiB").read("secret")
            os._exit(1)
        except PermissionError as error:
            os._exit(0 if "secret: permission denied" in str(error) else 2)
        except BaseException:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_closed_cache_says_so(tmp_path):
    (tmp_path / "file").write_bytes(b"data")
    cache = forebay.Cache(tmp_path, memory="32MiB")
    file = cache.open("file")
    assert file.read() == b"data" and not cache.closed
    cache.close()
    cache.close()
    assert cache.closed and "closed" in repr(cache)
    for call in [lambda: cache.read("file"), cache.stats, lambda: file.read_at(0, 1), lambda: cache.hint(["file"])]:
        with pytest.raises(ValueError, match="the cache is closed: open another one"):
            call()


def test_a_file_keeps_its_cache(tmp_path):
    (tmp_path / "file").write_bytes(b"data")
    file = forebay.Cache(tmp_path, memory="32MiB").open("file")
    gc.collect()
    assert file.read() == b"data"


def test_a_forked_child_is_told(cache, objects):
    file = cache.open("odd")
    view = file.read_buffer(10)
    child = os.fork()
    if child == 0:
        try:
            for call in [
                lambda: cache.read("odd"),
                lambda: file.read(1),
                cache.stats,
                cache.close,
                lambda: bytes(memoryview(view)) and 1 / 0,
            ]:
                try:
                    call()
                    os._exit(1)
                except RuntimeError as error:
                    assert "use forebay.mount() in the parent" in str(error)
                except ZeroDivisionError:
                    pass
            del file, view
            gc.collect()
            os._exit(0)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert cache.read("odd") == objects["odd"]


@pytest.mark.parametrize("remote", [False, True])
def test_a_forked_child_opens_a_cache_of_its_own(remote, s3, objects, tmp_path):
    """Nothing of the parent's threads is there, and nothing of them is used."""
    (tmp_path / "odd").write_bytes(objects["odd"])
    place, options = (f"s3://{BUCKET}", s3.options) if remote else (tmp_path, {})
    with forebay.Cache(place, memory="32MiB", **options) as cache:
        assert cache.read("odd") == objects["odd"]
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(60)
                assert "forked from" in repr(cache)
                with forebay.Cache(place, memory="32MiB", **options) as own:
                    os._exit(0 if own.read("odd") == objects["odd"] else 1)
            except BaseException:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert cache.read("odd", 1, 5) == objects["odd"][1:6]


def test_several_sources_are_folders(tmp_path, s3, objects):
    (tmp_path / "file").write_bytes(b"local")
    with forebay.Cache({"here": tmp_path, "there": f"s3://{BUCKET}"}, memory="64MiB", **s3.options) as cache:
        assert {entry["name"] for entry in cache.list()} == {"here", "there"}
        assert cache.read("here/file") == b"local" and cache.read("there/odd") == objects["odd"]


def test_a_changed_file_is_read_anew(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"first")
    with forebay.Cache(tmp_path, memory="32MiB", ttl="1ms") as cache:
        assert cache.read("file") == b"first"
        file = cache.open("file")
        replaced = tmp_path / "new"
        replaced.write_bytes(b"second, and longer")
        replaced.rename(path)
        time.sleep(0.01)
        assert cache.read("file") == b"second, and longer"
        assert file.size == 5


def test_hints_are_fetched_ahead(cache, objects):
    names = [name for name in objects if 0 < len(objects[name]) < 2 << 20]
    cache.hint([*names, "nothing", ("odd", 100, 5000)])
    until(lambda: cache.hints()[0]["fetched"] > 0 and cache.hints()[0]["missing"] == 1)
    [told] = cache.hints()
    assert told["accepted"] == len(names) + 2 and told["missing_names"] == ["nothing"]
    for name in names:
        assert cache.read(name) == objects[name]
    assert cache.stats()["hints_used"] > 0 and cache.stats()["hints_wasted"] == 0
    until(lambda: cache.hints()[0]["cursor"] >= len(names))
    cache.hint([], mode="clear")
    assert cache.hints() == []


def test_hints_stay_within_memory(tmp_path):
    for number in range(80):
        (tmp_path / f"{number:02}").write_bytes(os.urandom(1 << 20))
    with forebay.Cache(tmp_path, memory="32MiB") as cache:
        cache.hint([f"{number:02}" for number in range(80)])
        until(lambda: cache.hints()[0]["fetched"] > 0)
        time.sleep(0.2)
        assert cache.hints()[0]["fetched"] <= 16 << 20
        for number in range(80):
            assert len(cache.read(f"{number:02}")) == 1 << 20
        until(lambda: cache.hints()[0]["cursor"] == 80)
        assert cache.hints()[0]["wasted"] == 0


def test_hints_through_links(tmp_path):
    """As the cache of a hub of models has them."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "blobs" / "abc").write_bytes(os.urandom(1 << 20))
    (tmp_path / "snapshot" / "model").symlink_to("../blobs/abc")
    (tmp_path / "latest").symlink_to("snapshot")
    with forebay.Cache(tmp_path, memory="32MiB") as cache:
        cache.hint(["latest/model", "/snapshot/nothing"])
        until(lambda: cache.hints()[0]["fetched"] > 0 and cache.hints()[0]["missing"] == 1)
        assert cache.hints()[0]["missing_names"] == ["snapshot/nothing"]


def test_hints_that_make_no_sense(cache):
    with pytest.raises(ValueError, match="end must lie behind"):
        cache.hint([("odd", 100, 100)])
    with pytest.raises(ValueError, match="not the path of a file"):
        cache.hint(["../odd"])
    with pytest.raises(TypeError):
        cache.hint([7])
    with pytest.raises(ValueError, match="'odd', -1, 5.*a place in a file"):
        cache.hint([("odd", -1, 5)])
    for wrong in [("odd", 1), ("odd", 1, 2, 3)]:
        with pytest.raises(TypeError, match="none of path, first byte and end"):
            cache.hint([wrong])
    with pytest.raises(OSError, match="were taken; tell the rest") as full:
        cache.hint(f"folder/{number:0200}" for number in range(100_000))
    taken = int(re.search(r"(\d+) were taken", str(full.value))[1])
    assert taken > 10_000 and taken == next(told["accepted"] for told in cache.hints())
    cache.hint([], mode="clear")


def test_caches_of_one_process_share_a_disk_tier(folder, tmp_path):
    place, made = folder
    second = tmp_path / "second"
    second.mkdir()
    (second / "file-3").write_bytes(b"another")
    tier = {"disk": tmp_path / "tier", "disk_size": "65MiB", "disk_free": 0}
    with forebay.Cache(place, memory="64MiB", **tier) as one:
        with forebay.Cache(second, memory="80MiB", **tier) as two:
            assert one.read("file-3") == made["file-3"] and two.read("file-3") == b"another"
            for other in [{"disk_size": "130MiB"}, {"disk_free": "1MiB"}, {"disk_writes": "1MiB"}]:
                with pytest.raises(ValueError, match="open in this process with another .*; give the same one"):
                    forebay.Cache(place, memory="64MiB", **{**tier, **other})
        assert one.read("file-4") == made["file-4"]
    with forebay.Cache(place, memory="64MiB", **{**tier, "disk_size": "130MiB"}) as cache:
        assert cache.read("file-5") == made["file-5"]
    (tmp_path / "link").symlink_to(tmp_path / "tier")
    with pytest.raises(ValueError, match="link: given twice; name each folder of the disk tier once"):
        forebay.Cache(place, memory="64MiB", **{**tier, "disk": [tmp_path / "tier", tmp_path / "link"]})


def test_places_are_texts_or_bytes(folder, tmp_path):
    place, made = folder
    tier = {"disk": os.fsencode(tmp_path / "tier"), "disk_size": "65MiB", "disk_free": 0}
    with forebay.Cache(os.fsencode(place), memory="64MiB", **tier) as cache:
        assert cache.read(b"file-3") == made["file-3"] and (tmp_path / "tier").is_dir()
        for call in [cache.read, cache.open, cache.info, cache.list, cache.refresh, lambda name: cache.hint([name])]:
            with pytest.raises(ValueError, match="'file\\\\x00-3' has a zero byte"):
                call("file\0-3")
    with forebay.Cache({"a": os.fsencode(place)}, memory="32MiB") as cache:
        assert cache.read("a/file-3") == made["file-3"]
    with pytest.raises(ValueError, match="zero byte"):
        forebay.Cache("/srv\0")
    for number in [5, True, 1.5]:
        with pytest.raises(TypeError, match="option 'disk' is a path, not "):
            forebay.Cache(place, disk=number)


def test_a_file_only_reads_and_its_places_are_whole(folder):
    with forebay.Cache(folder[0], memory="32MiB") as cache, cache.open("file-3") as file:
        with pytest.raises(io.UnsupportedOperation, match="forebay only reads"):
            file.write(b"data")
        with pytest.raises(io.UnsupportedOperation):
            file.truncate()
        for call in [lambda: file.seek(1.5), lambda: file.read(1.5), lambda: file.seek("1")]:
            with pytest.raises(TypeError):
                call()
        assert file.tell() == 0


def test_versions_are_short_and_stay(folder):
    place, _ = folder
    with forebay.Cache(place, memory="32MiB") as cache:
        one = cache.info("file-3")["version"]
        assert one == cache.info("file-3")["version"] != cache.info("file-4")["version"]
        assert re.fullmatch(r"[0-9a-f-]{1,60}", one), one
        (place / "file-3").write_bytes(b"new")
        cache.refresh()
        assert cache.info("file-3")["version"] != one


def test_a_closed_cache_is_not_entered(folder):
    cache = forebay.Cache(folder[0], memory="32MiB")
    cache.close()
    with pytest.raises(ValueError, match="the cache is closed"):
        with cache:
            pass


def test_ctrl_c_ends_a_wait(tmp_path):
    """On a source that is slower than anybody waits."""
    (tmp_path / "file").write_bytes(bytes(64 << 20))
    slow = forebay.Cache(tmp_path, memory="32MiB", pace="ibm-10k")
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            slow.read("file")
    timer.join()
    slow.close()


def test_nothing_is_pickled_that_cannot_be(cache):
    for thing in [cache, cache.open("odd")]:
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(thing)


def test_nothing_leaks(tmp_path):
    for number in range(50):
        (tmp_path / str(number)).write_bytes(os.urandom(10_000))
    with forebay.Cache(tmp_path, memory="32MiB", ttl="1ms") as cache:

        def opens(count):
            for number in range(count):
                with cache.open(str(number % 50)) as file:
                    assert len(file.read_buffer(100)) == 100

        opens(2_000)
        gc.collect()
        process = psutil.Process()
        before = process.memory_info().rss
        descriptors = process.num_fds()
        opens(10_000)
        gc.collect()
        assert process.memory_info().rss - before < 4 << 20
        assert process.num_fds() <= descriptors + 5


def test_caches_end(tmp_path):
    (tmp_path / "file").write_bytes(os.urandom(1 << 20))
    process = psutil.Process()
    threads = None
    for round in range(12):
        cache = forebay.Cache(tmp_path, memory="32MiB")
        cache.read("file")
        cache.hint(["file"])
        cache.close()
        del cache
        gc.collect()
        if round == 3:
            threads, memory = process.num_threads(), process.memory_info().rss
    until(lambda: process.num_threads() <= threads)
    assert process.memory_info().rss - memory < 16 << 20
