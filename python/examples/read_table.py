"""Reads a Parquet file of any store that fsspec knows, twice, and says what the cache did.

python read_table.py forebay::s3://bucket/table.parquet
"""

import sys

import fsspec
import pyarrow.parquet


def main(url):
    fs, path = fsspec.url_to_fs(url)
    for _ in range(2):
        table = pyarrow.parquet.read_table(path, filesystem=fs)
    print(f"{table.num_rows} rows of {table.num_columns} columns")
    for source, counters in fs.stats().items():
        print(f"{source}: {counters['hits']} hits, {counters['misses']} misses")
    return table


if __name__ == "__main__":
    main(*sys.argv[1:])
