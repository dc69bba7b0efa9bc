"""The examples run as they stand."""

import runpy
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.parametrize("name, rows", [("sweep_dask", 15), ("sweep_joblib", 6)])
def test_a_sweep(name, rows):
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], check=True, stdout=subprocess.PIPE, text=True)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert lines[0].split()[:2] == ["policy", "capacity_blocks"] and len(lines) == rows + 1
    assert all(0 < float(line.split()[5]) <= 1 for line in lines[1:])


def test_read_table(tmp_path, capsys):
    pyarrow.parquet.write_table(pyarrow.table({"a": list(range(1000))}), tmp_path / "table.parquet")
    example = runpy.run_path(str(EXAMPLES / "read_table.py"))
    table = example["main"](f"forebay::file://{tmp_path}/table.parquet")
    assert table["a"].to_pylist() == list(range(1000))
    said = capsys.readouterr().out
    assert "1000 rows of 1 columns" in said and "hits" in said
