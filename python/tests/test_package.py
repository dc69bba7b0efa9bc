"""The package: types, what it needs, what the wheel has."""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import forebay
from forebay._mount import command

ROOT = Path(__file__).resolve().parents[2]


def run(*args, **options):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, **options)


def test_stubs_are_those_of_the_module(tmp_path):
    done = run(sys.executable, "-m", "mypy.stubtest", "forebay._forebay")
    assert done.returncode == 0, done.stdout


def test_types_hold(tmp_path):
    done = run(sys.executable, "-m", "mypy", "--cache-dir", tmp_path)
    assert done.returncode == 0, done.stdout


def test_programs_that_use_it_are_checked(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import forebay\n"
        "with forebay.Cache('/srv', memory='1GiB') as cache:\n"
        "    data: bytes = cache.read('a', 5, length=7)\n"
        "    cache.read(5)\n"
        "result: int = forebay.simulate('zipf', 'lru')\n"
    )
    done = run(sys.executable, "-m", "mypy", "--config-file", "/dev/null", "--cache-dir", tmp_path / "cache", program)
    assert "program.py:4: error" in done.stdout and "program.py:5: error" in done.stdout
    assert "Found 2 errors" in done.stdout, done.stdout


def test_it_is_written_as_the_rest():
    for line in [["check"], ["format", "--check"]]:
        done = run(sys.executable, "-m", "ruff", *line, "--no-cache", "python")
        assert done.returncode == 0, done.stdout


def test_it_needs_nothing():
    names = metadata.requires("forebay") or []
    assert names and all("extra ==" in name for name in names)
    program = (
        "import sys, forebay\n"
        "others = {'fsspec', 'pandas', 'numpy', 'torch', 'pyarrow', 'matplotlib'}\n"
        "print(sorted(others & {name.split('.')[0] for name in sys.modules}))"
    )
    assert run(sys.executable, "-c", program).stdout.strip() == "[]"


def test_the_wheel_has_the_command():
    program = command()
    assert Path(program).read_bytes()[:4] == b"\x7fELF" and program.startswith(sys.prefix)
    version = run(program, "--version").stdout.split()[-1]
    assert version == forebay.__version__ == metadata.version("forebay")
    assert isinstance(json.loads(run(program, "policies", "--json").stdout), list)


def test_its_entry_point_is_known():
    [point] = [point for point in metadata.entry_points(group="fsspec.specs") if point.name == "forebay"]
    assert point.load().__name__ == "ForebayFileSystem"
