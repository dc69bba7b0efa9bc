"""Libraries that people read with: each gets the bytes of the store, with eight threads."""

from concurrent.futures import ThreadPoolExecutor

import duckdb
import fsspec
import numpy
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
import xarray
import zarr
from conftest import BUCKET
from forebay.fsspec import ForebayFileSystem

THREADS = 8


@pytest.fixture(scope="module")
def table():
    chance = numpy.random.default_rng(3)
    rows = 60_000
    return pyarrow.table(
        {
            "number": chance.integers(0, 1 << 40, rows),
            "ratio": chance.random(rows),
            "text": [f"row {number % 977}" for number in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def tables(s3, table, tmp_path_factory):
    """The table as Parquet with small row groups, in several files, and as CSV."""
    folder = tmp_path_factory.mktemp("tables")
    pyarrow.parquet.write_table(table, folder / "table.parquet", row_group_size=5_000)
    s3.put("table.parquet", (folder / "table.parquet").read_bytes())
    for number in range(4):
        part = folder / f"{number}.parquet"
        pyarrow.parquet.write_table(table.slice(number * 15_000, 15_000), part, row_group_size=4_000)
        s3.put(f"parts/{number}.parquet", part.read_bytes())
    table.to_pandas().to_csv(folder / "table.csv", index=False)
    s3.put("table.csv", (folder / "table.csv").read_bytes())
    return f"{BUCKET}/table.parquet"


@pytest.fixture
def fs(s3, tables):
    made = ForebayFileSystem("s3", s3.fsspec, memory="64MiB", skip_instance_cache=True)
    yield made
    made.close()


@pytest.fixture
def options(s3):
    return {"s3": s3.fsspec, "forebay": {"memory": "64MiB"}}


def at_once(read):
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda _: read(), range(THREADS)))


def test_pandas(table, tables, options):
    expected = table.to_pandas()
    for read in at_once(lambda: pandas.read_parquet(f"forebay::s3://{tables}", storage_options=options)):
        pandas.testing.assert_frame_equal(read, expected)
    read = pandas.read_csv(f"forebay::s3://{BUCKET}/table.csv", storage_options=options)
    pandas.testing.assert_frame_equal(read, expected, check_exact=True)


def test_pyarrow(table, tables, fs):
    pyarrow.set_cpu_count(THREADS)
    for read in at_once(lambda: pyarrow.parquet.read_table(tables, filesystem=fs)):
        assert read.equals(table)
    with fs.open(tables) as file:
        assert pyarrow.parquet.ParquetFile(file).read(use_threads=True).equals(table)
    with fs.open(tables) as file:
        assert pyarrow.parquet.ParquetFile(file, pre_buffer=True).read_row_group(3).equals(table.slice(15_000, 5_000))
    parts = pyarrow.dataset.dataset(f"{BUCKET}/parts", filesystem=fs, format="parquet")
    assert parts.to_table().sort_by("number").equals(table.sort_by("number"))
    some = parts.to_table(columns=["ratio"], filter=pyarrow.dataset.field("text") == "row 5")
    assert some.num_rows == sum(text == "row 5" for text in table["text"].to_pylist())


def test_duckdb(table, tables, fs):
    """It reads one handle from several threads."""
    expected = (sum(table["number"].to_pylist()), len(set(table["text"].to_pylist())))
    for _ in range(5):
        connection = duckdb.connect(config={"threads": THREADS})
        connection.register_filesystem(fs)
        query = f"SELECT sum(number), count(DISTINCT text) FROM read_parquet('forebay://{tables}')"
        assert connection.sql(query).fetchall() == [expected]
        query = f"SELECT number, ratio, text FROM read_parquet('forebay://{tables}')"
        assert connection.sql(query).to_arrow_table().cast(table.schema).equals(table)
        query = f"SELECT count(*) FROM read_parquet('forebay://{BUCKET}/parts/*.parquet')"
        assert connection.sql(query).fetchall() == [(table.num_rows,)]
        connection.close()


def test_polars(table, tables, fs):
    expected = polars.from_arrow(table)

    def read():
        with fs.open(tables) as file:
            return polars.read_parquet(file)

    for frame in at_once(read):
        assert frame.equals(expected)
    with fs.open(tables) as file:
        assert polars.scan_parquet(file).filter(polars.col("text") == "row 5").collect().height == 62


@pytest.fixture(scope="module")
def arrays(s3, tmp_path_factory):
    """A Zarr group: its values, by name."""
    folder = tmp_path_factory.mktemp("arrays") / "group.zarr"
    chance = numpy.random.default_rng(4)
    values = {"heat": chance.random((200, 300)), "count": chance.integers(0, 1000, (200, 300))}
    axes = {"x": numpy.arange(200), "y": numpy.arange(300)}
    dataset = xarray.Dataset({name: (("x", "y"), value) for name, value in values.items()}, coords=axes)
    dataset.to_zarr(folder, encoding={name: {"chunks": (50, 50)} for name in values}, zarr_format=3)
    for file in folder.rglob("*"):
        if file.is_file():
            s3.put(f"group.zarr/{file.relative_to(folder)}", file.read_bytes())
    return values


def test_zarr(arrays, s3):
    fs = ForebayFileSystem("s3", s3.fsspec, memory="64MiB", asynchronous=True, skip_instance_cache=True)
    store = zarr.storage.FsspecStore(fs, read_only=True, path=f"{BUCKET}/group.zarr")
    group = zarr.open_group(store, mode="r")
    for name, value in arrays.items():
        for read in at_once(lambda: group[name][:]):
            numpy.testing.assert_array_equal(read, value)
        numpy.testing.assert_array_equal(group[name][40:60, 149:151], value[40:60, 149:151])
    fs.close()


def test_xarray(arrays, options):
    url = f"forebay::s3://{BUCKET}/group.zarr"
    dataset = xarray.open_zarr(url, storage_options=options, chunks=None, consolidated=False)
    for name, value in arrays.items():
        for read in at_once(lambda: dataset[name].values):
            numpy.testing.assert_array_equal(read, value)


def test_a_data_set_that_was_written_since_its_folder_was_listed(s3, options):
    fs, folder = fsspec.url_to_fs(f"forebay::s3://{BUCKET}/sets", **options)
    s3.put("sets/old", b"old")
    assert fs.ls(folder, detail=False) == [f"{folder}/old"]
    written = xarray.Dataset({"a": ("x", numpy.arange(1000)), "b": ("x", numpy.arange(1000.0))})
    written.to_zarr(f"s3://{BUCKET}/sets/new.zarr", storage_options=s3.fsspec, consolidated=False)
    url = f"forebay::s3://{BUCKET}/sets/new.zarr"
    xarray.testing.assert_identical(xarray.open_zarr(url, storage_options=options, consolidated=False), written)


def test_the_counters_saw_it(tables, fs):
    for _ in range(3):
        pyarrow.parquet.read_table(tables, filesystem=fs)
    [counters] = fs.stats().values()
    assert counters["hits"] > counters["misses"] > 0
