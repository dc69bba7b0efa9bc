"""`forebay.fsspec`: the file system itself."""

import asyncio
import errno
import os
import pickle
import subprocess
import sys
import threading

import forebay
import fsspec
import pytest
from conftest import BUCKET, some_bytes
from forebay._translate import place
from forebay.fsspec import ForebayFileSystem
from fsspec.implementations.memory import MemoryFileSystem


@pytest.fixture
def fs(s3, objects):
    made = fsspec.filesystem("forebay", target_protocol="s3", target_options=s3.fsspec, memory="64MiB")
    yield made
    made.close()


def test_a_chained_url(s3, objects):
    options = {"s3": s3.fsspec, "forebay": {"memory": "64MiB"}}
    for name, data in objects.items():
        with fsspec.open(f"forebay::s3://{BUCKET}/{name}", **options) as file:
            assert file.read() == data
    fs, path = fsspec.url_to_fs(f"forebay::s3://{BUCKET}/odd", **options)
    other, _ = fsspec.url_to_fs(f"forebay::s3://{BUCKET}/large", **options)
    assert isinstance(fs, ForebayFileSystem) and fs is other, "one cache for all files"
    assert path == f"{BUCKET}/odd" and fs.cat_file(path) == objects["odd"]
    [counters] = fs.stats().values()
    assert counters["hits"] > 0
    fs.close()


def test_ranges(fs, objects):
    data = objects["odd"]
    path = f"{BUCKET}/odd"
    for start, end in [
        (None, None),
        (0, 10),
        (100, 5000),
        (-100, None),
        (0, -100),
        (-100, -50),
        (5, 5),
        (10, 5),
        (len(data) + 1, None),
    ]:
        assert fs.cat_file(path, start, end) == data[slice(start, end)], (start, end)
    starts = list(range(0, 1_000_000, 10_007))
    ends = [start + 777 for start in starts]
    assert fs.cat_ranges([path] * len(starts), starts, ends) == [data[start:end] for start, end in zip(starts, ends)]
    assert fs.cat_ranges([path, path], 0, 10) == [data[:10]] * 2
    several = fs.cat([f"{BUCKET}/byte", f"{BUCKET}/block"])
    assert several == {f"{BUCKET}/byte": objects["byte"], f"{BUCKET}/block": objects["block"]}
    good, bad = fs.cat_ranges([path, f"{BUCKET}/nothing"], [0, 0], [10, 10], on_error="return")
    assert good == data[:10] and isinstance(bad, FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges([path, f"{BUCKET}/nothing"], [0, 0], [10, 10], on_error="raise")
    with pytest.raises(ValueError, match="give one of each"):
        fs.cat_ranges([path], [0, 1], [2])


def test_names_are_those_of_the_other(fs, s3, objects):
    other = s3.client()
    for path in [BUCKET, f"{BUCKET}/folder", f"{BUCKET}/folder/inner"]:
        assert sorted(fs.ls(path, detail=False)) == sorted(other.ls(path, detail=False))
        ours = {entry["name"]: (entry["type"], entry["size"]) for entry in fs.ls(path)}
        assert ours == {entry["name"]: (entry["type"], entry["size"]) for entry in other.ls(path, detail=True)}
    assert fs.find(BUCKET) == other.find(BUCKET)
    assert fs.glob(f"{BUCKET}/folder/**/d*") == other.glob(f"{BUCKET}/folder/**/d*")
    assert list(fs.walk(BUCKET)) == list(other.walk(BUCKET))
    assert fs.isdir(f"{BUCKET}/folder") and fs.isfile(f"{BUCKET}/odd") and not fs.exists(f"{BUCKET}/nothing")
    assert fs.size(f"{BUCKET}/odd") == len(objects["odd"]) and fs.du(BUCKET) == other.du(BUCKET)
    assert fs.ls(f"{BUCKET}/odd", detail=False) == [f"{BUCKET}/odd"]
    assert fs.modified(f"{BUCKET}/odd").tzinfo is not None and fs.ukey(f"{BUCKET}/odd") != fs.ukey(f"{BUCKET}/large")
    for missing in [
        lambda: fs.info(f"{BUCKET}/nothing"),
        lambda: fs.ls(f"{BUCKET}/nothing"),
        lambda: fs.open(f"{BUCKET}/no"),
    ]:
        with pytest.raises(FileNotFoundError):
            missing()


def test_a_folder_that_was_made_since_it_was_listed(fs, s3):
    s3.put("made/old", b"old")
    assert fs.ls(f"{BUCKET}/made", detail=False) == [f"{BUCKET}/made/old"]
    s3.put("made/new/one", b"1")
    s3.put("made/newer/one", b"1")
    assert fs.cat(f"{BUCKET}/made/new/one") == b"1"
    for folder in ["new", "newer"]:
        one = f"{BUCKET}/made/{folder}/one"
        assert fs.ls(f"{BUCKET}/made/{folder}", detail=False) == fs.find(f"{BUCKET}/made/{folder}") == [one]
        assert fs.isdir(f"{BUCKET}/made/{folder}")
    with pytest.raises(FileNotFoundError):
        fs.ls(f"{BUCKET}/made/never")


def test_names_are_forgotten_when_asked(fs, s3):
    path = f"{BUCKET}/renewed"
    s3.put("renewed/a", b"old")
    assert len(fs.ls(path)) == 1 and fs.cat(f"{path}/a") == b"old"
    for number, forget in enumerate(
        [
            lambda: fs.ls(path, refresh=True),
            lambda: fs.invalidate_cache(),
            lambda: fs.invalidate_cache(path),
            lambda: fs.info(f"{path}/a", refresh=True),
        ]
    ):
        s3.put(f"renewed/new-{number}", b"")
        s3.put("renewed/a", b"new!" * (number + 1))
        assert len(fs.ls(path)) == number + 1, "believed for the ttl"
        forget()
        assert len(fs.ls(path)) == number + 2 and fs.cat(f"{path}/a") == b"new!" * (number + 1)


def test_names_of_any_other_file_system_are_forgotten(s3):
    fs = ForebayFileSystem(fs=s3.client(), memory="32MiB", skip_instance_cache=True)
    s3.put("other/a", b"a")
    assert len(fs.ls(f"{BUCKET}/other")) == 1 and fs.info(f"{BUCKET}/other/a")["size"] == 1
    s3.put("other/a", b"longer")
    fs.invalidate_cache(f"{BUCKET}/other")
    assert fs.info(f"{BUCKET}/other/a")["size"] == 6 and fs.cat(f"{BUCKET}/other/a") == b"longer"
    fs.close()


def test_buckets_share_a_disk_tier(s3, objects, tmp_path):
    os.makedirs(s3.folder / "second", exist_ok=True)
    s3.client().pipe_file("second/odd", b"another one")
    options = {"memory": "64MiB", "disk": str(tmp_path), "disk_size": "65MiB", "disk_free": 0}
    fs = ForebayFileSystem("s3", s3.fsspec, skip_instance_cache=True, **options)
    assert fs.cat(f"{BUCKET}/odd") == objects["odd"] and fs.cat("second/odd") == b"another one"
    other = ForebayFileSystem("s3", s3.fsspec, skip_instance_cache=True, **{**options, "memory": "48MiB"})
    assert other.cat(f"{BUCKET}/odd") == objects["odd"] and other.cat("second/odd") == b"another one"
    fs.close()
    assert other.cat(f"{BUCKET}/block") == objects["block"]
    other.close()


def test_it_gets_files(fs, objects, tmp_path):
    fs.get(f"{BUCKET}/folder", str(tmp_path / "got"), recursive=True)
    assert (tmp_path / "got/inner/deep").read_bytes() == objects["folder/inner/deep"]
    assert fs.read_bytes(f"{BUCKET}/byte") == objects["byte"] and fs.head(f"{BUCKET}/odd", 5) == objects["odd"][:5]


def test_writing_is_refused(fs, tmp_path):
    (tmp_path / "file").write_bytes(b"data")
    path = f"{BUCKET}/written"
    for write in [
        lambda: fs.open(path, "wb"),
        lambda: fs.open(path, "ab"),
        lambda: fs.pipe_file(path, b"data"),
        lambda: fs.pipe(path, b"data"),
        lambda: fs.put_file(str(tmp_path / "file"), path),
        lambda: fs.put(str(tmp_path / "file"), path),
        lambda: fs.rm(f"{BUCKET}/odd"),
        lambda: fs.rm_file(f"{BUCKET}/odd"),
        lambda: fs.mkdir(f"{BUCKET}/new"),
        lambda: fs.makedirs(f"{BUCKET}/new"),
        lambda: fs.rmdir(f"{BUCKET}/folder"),
        lambda: fs.touch(path),
        lambda: fs.cp_file(f"{BUCKET}/odd", path),
        lambda: fs.mv(f"{BUCKET}/odd", path),
    ]:
        with pytest.raises(OSError) as refused:
            write()
        assert refused.value.errno == errno.EROFS and "forebay only reads" in str(refused.value)
    assert fs.exists(f"{BUCKET}/odd") and not fs.exists(path)


def test_it_is_asynchronous(s3, objects):
    async def read():
        fs = ForebayFileSystem("s3", s3.fsspec, memory="64MiB", asynchronous=True, skip_instance_cache=True)
        names = list(objects) * 20
        read = await asyncio.gather(*(fs._cat_file(f"{BUCKET}/{name}") for name in names))
        assert read == [objects[name] for name in names]
        fs.close()

    asyncio.run(read())


def test_it_is_pickled(fs, objects):
    other = pickle.loads(pickle.dumps(fs))
    assert other.cat_file(f"{BUCKET}/odd") == objects["odd"]
    file = fs.open(f"{BUCKET}/odd")
    with pytest.raises(TypeError, match="pickle its path"):
        pickle.dumps(file)


def test_a_forked_child_is_told(fs, objects):
    fs.cat_file(f"{BUCKET}/odd")
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(fs._cat_file(f"{BUCKET}/odd"))
            os._exit(1)
        except RuntimeError as error:
            os._exit(0 if "use forebay.mount() in the parent" in str(error) else 2)
        except BaseException:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_files_of_this_machine(folder):
    place, made = folder
    for name, data in made.items():
        with fsspec.open(f"forebay::file://{place}/{name}", forebay={"memory": "32MiB"}) as file:
            assert file.read() == data


def test_the_web(folder, web):
    _, made = folder
    fs = ForebayFileSystem("http", memory="32MiB", skip_instance_cache=True)
    for name, data in made.items():
        assert fs.cat_file(f"{web}/{name}") == data
    fs.close()


@pytest.fixture
def web(folder):
    import functools
    import http.server

    class Quiet(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(folder[0]))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def memory():
    other = MemoryFileSystem()
    other.store.clear()
    made = {f"/some/file-{number}": some_bytes(number, 100_000 + number) for number in range(5)}
    for name, data in made.items():
        other.pipe_file(name, data)
    yield made
    other.store.clear()


def test_any_other_file_system_by_its_cat_file(memory):
    fs = ForebayFileSystem(target_protocol="memory", memory="32MiB", skip_instance_cache=True)
    for name, data in memory.items():
        assert fs.cat_file(f"memory:/{name}", 5, 70_000) == data[5:70_000] and fs.cat_file(name) == data
    assert [name.rsplit("/", 1)[-1] for name in fs.ls("/some", detail=False)] == [f"file-{n}" for n in range(5)]
    assert fs.info("/some")["type"] == "directory" and fs.info("/some/file-3")["size"] == 100_003
    with pytest.raises(FileNotFoundError):
        fs.cat_file("/some/other")
    fs.close()


def test_a_file_system_of_ones_own(memory):
    reads = []

    class Counting(MemoryFileSystem):
        cachable = False

        def cat_file(self, path, start=None, end=None, **options):
            reads.append((path, start, end))
            return super().cat_file(path, start, end, **options)

    fs = ForebayFileSystem(fs=Counting(), memory="32MiB", skip_instance_cache=True)
    for _ in range(3):
        assert fs.cat_file("/some/file-1") == memory["/some/file-1"]
    assert reads and sum(end - start for _, start, end in reads) <= 110_000, "it was read once"
    fs.close()


def test_a_file_that_changes_there(memory):
    fs = ForebayFileSystem(target_protocol="memory", memory="32MiB", ttl="1ms", skip_instance_cache=True)
    assert fs.cat_file("/some/file-1") == memory["/some/file-1"]
    MemoryFileSystem().pipe_file("/some/file-1", b"new")
    threading.Event().wait(0.01)
    assert fs.cat_file("/some/file-1") == b"new"
    fs.close()


def test_an_error_of_another_file_system(caplog):
    class Broken(MemoryFileSystem):
        cachable = False

        def info(self, path, **_):
            return {"name": path, "type": "file", "size": 100}

        def cat_file(self, path, start=None, end=None, **_):
            raise RuntimeError("it is broken")

    fs = ForebayFileSystem(fs=Broken(), memory="32MiB", skip_instance_cache=True)
    with pytest.raises(OSError, match="file: the storage failed; logger 'forebay' says why"):
        fs.cat_file("/file")
    for _ in range(1_000):
        if "it is broken" in caplog.text:
            break
        threading.Event().wait(0.01)
    assert "RuntimeError: it is broken" in caplog.text
    fs.close()


@pytest.mark.parametrize("end", ["del fs; gc.collect()", "fs.close()", "pass"])
def test_it_ends_while_it_reads(end):
    """Threads of the cache need Python's lock while the cache is let go."""
    program = f"""
import gc, time
from fsspec.implementations.memory import MemoryFileSystem
from forebay.fsspec import ForebayFileSystem

class Slow(MemoryFileSystem):
    cachable = False
    def cat_file(self, *args, **options):
        time.sleep(0.05)
        return super().cat_file(*args, **options)

target = Slow()
for number in range(100):
    target.pipe_file(f"/file-{{number}}", bytes(300_000))
fs = ForebayFileSystem(fs=target, memory="64MiB", skip_instance_cache=True)
fs.hint([f"/file-{{number}}" for number in range(100)])
assert fs.cat_file("/file-50", 0, 10) == bytes(10)
{end}
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_an_existing_cache(folder):
    place, made = folder
    with forebay.Cache(place, memory="32MiB") as cache:
        fs = ForebayFileSystem(cache=cache, skip_instance_cache=True)
        assert fs.cat_file("file-3") == made["file-3"]
        assert sorted(fs.ls("", detail=False)) == sorted(made)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(fs)


def test_the_file_system_behind_is_needed():
    with pytest.raises(ValueError, match="forebay::s3://bucket/key"):
        ForebayFileSystem(skip_instance_cache=True)
    with pytest.raises(TypeError, match="no option 'memroy'"):
        ForebayFileSystem("file", memroy="1GiB", skip_instance_cache=True).cat_file("/etc/hostname")


def test_options_of_the_other_file_system_belong_below_its_name():
    with pytest.raises(TypeError, match=r"'key', 'secret': options of s3.*\{'s3': \{'key': \.\.\.\}"):
        fsspec.open("forebay::s3://bucket/key", key="K", secret="S")
    with pytest.raises(TypeError, match="'token': options of gs"):
        ForebayFileSystem("gs", token="anon", skip_instance_cache=True)


def test_options_are_translated():
    def translated(protocol, options, path):
        found, inside = place(protocol, options, path)
        return (found.source, found.options, found.settings, inside) if found else (None, inside)

    keys = {"key": "K", "secret": "S", "client_kwargs": {"endpoint_url": "http://e", "region_name": "r"}}
    assert translated("s3", keys, "s3://bucket/a/b") == (
        "s3://bucket",
        {"endpoint": "http://e", "region": "r"},
        {"aws_access_key_id": "K", "aws_secret_access_key": "S"},
        "a/b",
    )
    assert translated("s3", {"anon": True, "profile": None}, "bucket/a") == (
        "s3://bucket",
        {"no_sign_request": True},
        {},
        "a",
    )
    assert translated("s3", {"anon": False, "profile": "work", "default_block_size": 5}, "bucket") == (
        "s3://bucket",
        {"no_sign_request": False, "profile": "work"},
        {},
        "",
    )
    assert translated("gcs", {"token": "anon"}, "gs://bucket/a") == ("gs://bucket", {"no_sign_request": True}, {}, "a")
    assert translated("gs", {"token": "/key.json", "project": "p"}, "bucket/a") == (
        "gs://bucket",
        {},
        {"google_service_account": "/key.json"},
        "a",
    )
    assert translated("abfs", {"account_name": "n", "account_key": "k"}, "abfs://box/a") == (
        "az://box",
        {},
        {"azure_storage_account_name": "n", "azure_storage_account_key": "k"},
        "a",
    )
    assert translated("abfss", {}, "abfss://box@name.dfs.core.windows.net/a")[2] == {
        "azure_storage_account_name": "name"
    }
    assert translated("https", {}, "https://host:1/a/b") == ("https://host:1/", {}, {}, "a/b")
    assert translated("file", {"auto_mkdir": True}, "/a/b") == ("/", {}, {}, "a/b")
    # An option that cannot be translated leaves reading to the other file system.
    assert translated("s3", {"session": object()}, "s3://bucket/a") == (None, "bucket/a")
    assert translated("s3", {"client_kwargs": {"aws_account_id": "1"}}, "s3://bucket/a")[0] is None
    assert translated("https", {}, "https://host/a?b=c")[0] is None
    assert translated("https", {"headers": {"A": "b"}}, "https://host/a")[0] is None
    assert translated("ftp", {}, "ftp://host/a") == (None, "host/a")
