"""The file system `forebay` beside those of s3fs and obstore, on one S3 server that is 20 ms away.

Each load runs in a process of its own under each file system, and file systems take turns. The time
is that of the load, from the making of the file system on. Bytes are those that the server sent, and
memory is the growth of the process' peak from before the load. `forebay` is that of a user who meets
the store for the first time, so it begins with usual costs. For `forebay profiled` the store was
measured by `forebay profile`. Run it with the environment of the tests:

    cargo xtask tools && cargo xtask python -k fsspec
    target/tools/python-module/bin/python3 -m pip install -r python/bench/requirements.txt
    target/tools/python-module/bin/python3 python/bench/fsspec_peers.py
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import fsspec
import numpy
import obstore.fsspec
import obstore.store
import pyarrow
import pyarrow.parquet
import s3fs
import zarr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from conftest import BUCKET, KEYS, REGION, S3
from forebay.fsspec import ForebayFileSystem

#: Seconds before the first byte of each answer.
DELAY = 0.02
#: Bytes of the file that is read whole and at random.
SIZE = 64 << 20
PIECE = 1 << 20
RANDOM_READS = 200
RANDOM_BYTES = 64 << 10
MEMORY = "256MiB"

SYSTEMS = ["forebay profiled", "forebay", "s3fs readahead", "s3fs background", "s3fs none", "obstore"]


# The server, 20 ms away.


class Distance:
    """A proxy that holds the first byte of each answer back, and counts."""

    def __init__(self, port, sent, requests):
        self.port, self.sent, self.requests = port, sent, requests

    async def connection(self, client_reads, client_writes):
        reads, writes = await asyncio.open_connection("127.0.0.1", self.port)
        asked = [0.0]

        async def upwards():
            while data := await client_reads.read(1 << 16):
                asked[0] = time.monotonic()
                self.requests.value += data.startswith((b"GET ", b"HEAD "))
                writes.write(data)
                await writes.drain()
            writes.close()

        async def downwards():
            while data := await reads.read(1 << 18):
                await asyncio.sleep(max(0.0, asked[0] + DELAY - time.monotonic()))
                self.sent.value += len(data)
                client_writes.write(data)
                await client_writes.drain()
            client_writes.close()

        with contextlib.suppress(ConnectionError):
            await asyncio.gather(upwards(), downwards())

    async def serve(self, says):
        server = await asyncio.start_server(self.connection, "127.0.0.1", 0)
        says.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()


def distance(port, says, sent, requests):
    asyncio.run(Distance(port, sent, requests).serve(says))


# The file systems.


def made(system, endpoint, asynchronous=False):
    """A new file system, without anything from an earlier one."""
    options = {**KEYS, "client_kwargs": {"endpoint_url": endpoint, "region_name": REGION}}
    if system.startswith("forebay"):
        return ForebayFileSystem("s3", options, memory=MEMORY, asynchronous=asynchronous, skip_instance_cache=True)
    if system == "obstore":
        config, client = store_options(endpoint)
        return obstore.fsspec.FsspecStore("s3", config=config, client_options=client, skip_instance_cache=True)
    kind = system.split()[1]
    return s3fs.S3FileSystem(**options, default_cache_type=kind, asynchronous=asynchronous, skip_instance_cache=True)


def store_options(endpoint):
    config = {
        "access_key_id": KEYS["key"],
        "secret_access_key": KEYS["secret"],
        "region": REGION,
        "endpoint": endpoint,
        "virtual_hosted_style_request": False,
    }
    return config, {"allow_http": True}


def arrays(system, endpoint):
    """What zarr reads from: obstore has a way of its own."""
    if system == "obstore":
        config, client = store_options(endpoint)
        store = obstore.store.S3Store(BUCKET, prefix="array.zarr", config=config, client_options=client)
        return zarr.storage.ObjectStore(store, read_only=True)
    fs = made(system, endpoint, asynchronous=True)
    return zarr.storage.FsspecStore(fs, read_only=True, path=f"{BUCKET}/array.zarr")


# The loads. Each returns the bytes that its reader got.


def whole(system, endpoint):
    got = 0
    with made(system, endpoint).open(f"{BUCKET}/file") as file:
        while data := file.read(PIECE):
            got += len(data)
    assert got == SIZE
    return got


def at_random(system, endpoint):
    chance = random.Random(7)
    with made(system, endpoint).open(f"{BUCKET}/file") as file:
        for _ in range(RANDOM_READS):
            file.seek(chance.randrange(SIZE - RANDOM_BYTES))
            assert len(file.read(RANDOM_BYTES)) == RANDOM_BYTES
    return RANDOM_READS * RANDOM_BYTES


def projection(system, endpoint):
    fs = made(system, endpoint)
    if system == "obstore":
        fs = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(fs))
    table = pyarrow.parquet.read_table(f"{BUCKET}/table.parquet", filesystem=fs, columns=["c2", "c7"])
    assert table.num_rows == ROWS
    return table.nbytes


def by_duckdb(system, endpoint):
    """One thread: with several, DuckDB reads one handle from all of them, and the position of other
    file systems' handles moves in between."""
    fs = made(system, endpoint)
    protocol = fs.protocol if isinstance(fs.protocol, str) else fs.protocol[0]
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register_filesystem(fs)
        query = f"SELECT count(*), sum(c2), sum(c7) FROM read_parquet('{protocol}://{BUCKET}/table.parquet')"
        [(rows, *_)] = connection.sql(query).fetchall()
    assert rows == ROWS
    return rows * 2 * 8


def slices(system, endpoint):
    array = zarr.open_array(arrays(system, endpoint), mode="r")
    got = 0
    for row in range(0, array.shape[0], 256):
        got += array[row : row + 64, :].nbytes
    return got


LOADS = {
    "whole file": whole,
    "64 KiB at random": at_random,
    "2 of 10 columns, pyarrow": projection,
    "2 of 10 columns, DuckDB": by_duckdb,
    "zarr slices": slices,
}
ROWS = 1_000_000


def fill(server):
    """Puts the objects of the loads onto the server, without the distance."""
    server.put("file", random.Random(1).randbytes(SIZE))
    chance = numpy.random.default_rng(2)
    table = pyarrow.table({f"c{number}": chance.random(ROWS) for number in range(10)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        pyarrow.parquet.write_table(table, path, row_group_size=100_000, compression="none")
        server.put("table.parquet", path.read_bytes())
        place = Path(folder) / "array.zarr"
        values = chance.random((2048, 2048))
        zarr.create_array(store=str(place), data=values, chunks=(128, 128), compressors=None)
        for file in place.rglob("*"):
            if file.is_file():
                server.put(f"array.zarr/{file.relative_to(place)}", file.read_bytes())


def peak():
    """The most memory that the process has had since `forget_peak`, in bytes."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")


def one(load, system, endpoint):
    """One load in this process, as a line of JSON."""
    fsspec.config.conf.clear()
    forget_peak()
    before, begun = peak(), time.monotonic()
    got = LOADS[load](system, endpoint)
    print(json.dumps({"seconds": time.monotonic() - begun, "got": got, "memory": peak() - before}), flush=True)
    # Threads of some libraries do not outlive the interpreter's end in peace.
    os._exit(0)


def measure(home, server, endpoint):
    """Measures the store for the user of a home."""
    program = Path(sys.executable).parent / "forebay"
    line = [program, "profile", f"s3://{BUCKET}", "--endpoint", endpoint, "--seconds", "3"]
    subprocess.run(line, check=True, env=environment(home) | server.environment, stdout=sys.stderr)


def environment(home):
    own = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "FOREBAY_", "XDG_"))}
    return own | {"HOME": str(home), "FOREBAY_CONFIG": "/dev/null"}


def measured(load, system, endpoint, home, counts):
    sent, requests = counts
    before = sent.value, requests.value
    line = [sys.executable, __file__, "--one", load, system, endpoint]
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True, env=environment(home))
    figures = json.loads(done.stdout.splitlines()[-1])
    return figures | {"sent": sent.value - before[0], "requests": requests.value - before[1]}


def turns(number, loads):
    """These loads under all file systems, another one first in each round."""
    first = number % len(SYSTEMS)
    for load in loads:
        for system in SYSTEMS[first:] + SYSTEMS[:first]:
            # Chunks are read whole, so kinds of read-ahead are one.
            if load == "zarr slices" and system in ("s3fs readahead", "s3fs background"):
                continue
            # A read of obstore's may be short, which DuckDB takes for an error.
            if load == "2 of 10 columns, DuckDB" and system == "obstore":
                continue
            yield load, system


def table(runs):
    """The medians, a row a load and file system."""
    yield "| load | file system | s | times forebay profiled | MB sent | requests | peak MB more |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for load in LOADS:
        mean = {}
        for system in SYSTEMS:
            rounds = runs.get((load, system))
            if rounds:
                mean[system] = {name: statistics.median(run[name] for run in rounds) for name in rounds[0]}
        for system, figures in mean.items():
            times = figures["seconds"] / mean[SYSTEMS[0]]["seconds"]
            yield (
                f"| {load} | {system} | {figures['seconds']:.2f} | {times:.2f} | {figures['sent'] / 1e6:.1f} "
                f"| {figures['requests']:.0f} | {figures['memory'] / 1e6:.0f} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often each load is measured; medians count")
    parser.add_argument("--load", action="append", choices=LOADS, help="only this load; can be given several times")
    parser.add_argument("--one", nargs=3, metavar=("LOAD", "SYSTEM", "ENDPOINT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return one(*options.one)
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        server = S3(folder / "s3")
        context = multiprocessing.get_context("spawn")
        counts = context.Value("q", 0), context.Value("q", 0)
        hears, says = context.Pipe(duplex=False)
        port = int(server.endpoint.rsplit(":", 1)[1])
        proxy = context.Process(target=distance, args=(port, says, *counts), daemon=True)
        try:
            fill(server)
            proxy.start()
            endpoint = f"http://127.0.0.1:{hears.recv()}"
            (folder / "profiled").mkdir()
            measure(folder / "profiled", server, endpoint)
            for number in range(options.rounds):
                for load, system in turns(number, options.load or LOADS):
                    print(f"{number + 1}: {load}, {system}", file=sys.stderr)
                    if system == "forebay profiled":
                        home = folder / "profiled"
                    else:
                        home = Path(tempfile.mkdtemp(dir=folder))
                    runs.setdefault((load, system), []).append(measured(load, system, endpoint, home, counts))
        finally:
            proxy.terminate()
            server.stop()
    print("\n".join(table(runs)))


if __name__ == "__main__":
    main()
