"""The examples run as they stand."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import forebay
import pyarrow
import pyarrow.parquet
import pytest
from conftest import BUCKET

#: The Python that Debian's PyTorch is for.
SYSTEM = "/usr/bin/python3"

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


@pytest.fixture
def torch(tmp_path):
    """The environment of a system's Python that has PyTorch and this package."""
    if subprocess.run([SYSTEM, "-c", "import torch"], capture_output=True).returncode:
        assert not os.environ.get("CI"), "python3-torch is missing: `cargo xtask tools` installs it"
        pytest.skip("there is no PyTorch")
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "forebay").symlink_to(Path(forebay.__file__).parent)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "PYTHONPATH": str(packages), "PATH": path}


def trained(place, environment, *options):
    line = [SYSTEM, EXAMPLES / "train.py", place, "--json", *options]
    done = subprocess.run(line, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.skipif(not os.path.exists("/dev/fuse") and not os.environ.get("CI"), reason="there is no FUSE")
def test_training_reads_every_file_once_an_epoch(s3, objects, torch):
    environment = {**torch, **s3.environment, "AWS_ENDPOINT_URL": s3.endpoint}
    for options in [["--workers", "3"], ["--workers", "0", "--untold"]]:
        seen = trained(f"s3://{BUCKET}", environment, "--memory", "64MiB", *options)
        assert [epoch["files"] for epoch in seen] == [len(objects)] * 2
        assert [epoch["bytes"] for epoch in seen] == [sum(map(len, objects.values()))] * 2


def test_a_mount_that_is_told_fetches_what_training_reads(tmp_path, torch):
    place = tmp_path / "data/images"
    place.mkdir(parents=True)
    for number in range(300):
        (place / f"{number:03}").write_bytes(bytes(40_000 + number))
    with forebay.mount(place.parent, memory="64MiB") as data:
        seen = trained(os.path.join(data.path, "images"), torch, "--epochs", "1")
        assert [epoch["files"] for epoch in seen] == [300]
        counters = data.stats()
        assert counters["hinted"] > 0 and counters["hints_wasted"] <= counters["hinted"] // 10, counters
