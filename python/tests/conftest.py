"""A real S3 server, and files on it."""

import os
import random
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(os.environ.get("FOREBAY_TEST_TOOLS", ROOT / "target/tools"))
BUCKET = "data"
KEYS = {"key": "forebay-access", "secret": "forebay-secret"}
REGION = "us-east-1"


def pytest_configure(config):
    # Nothing of the user's changes what is tested, and nothing is left in their folders.
    for name in [name for name in os.environ if name.startswith(("AWS_", "FOREBAY_"))]:
        del os.environ[name]
    os.environ["FOREBAY_CONFIG"] = "/dev/null"


def pytest_collection_modifyitems(items):
    """Tests that mount need FUSE; in CI it must be there."""
    if os.path.exists("/dev/fuse") or os.environ.get("CI"):
        return
    for item in items:
        if item.path.name == "test_mount.py":
            item.add_marker(pytest.mark.skip(reason="there is no FUSE"))


@pytest.fixture(autouse=True, scope="session")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    os.environ.update(HOME=str(folder), XDG_CACHE_HOME=str(folder / "cache"), AWS_EC2_METADATA_DISABLED="true")


def until(holds):
    for _ in range(2_000):
        if holds():
            return
        time.sleep(0.01)
    assert holds()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class S3:
    """A running versitygw."""

    def __init__(self, folder):
        program = TOOLS / "versitygw"
        if not program.exists():
            pytest.fail(f"{program} is missing: `cargo xtask tools` builds it")
        (folder / BUCKET).mkdir(parents=True)
        self.folder = folder
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        line = [program, "--access", KEYS["key"], "--secret", KEYS["secret"], "--region", REGION]
        line += ["--port", f"127.0.0.1:{port}", "--keep-alive", "--quiet", "posix", folder]
        self.process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert self.process.poll() is None, "versitygw ended"
            time.sleep(0.05)
        # For forebay itself.
        self.settings = {"aws_access_key_id": KEYS["key"], "aws_secret_access_key": KEYS["secret"]}
        self.options = {"endpoint": self.endpoint, "region": REGION, "settings": self.settings}
        # For fsspec.
        self.fsspec = {**KEYS, "client_kwargs": {"endpoint_url": self.endpoint, "region_name": REGION}}
        self.environment = {
            "AWS_ACCESS_KEY_ID": KEYS["key"],
            "AWS_SECRET_ACCESS_KEY": KEYS["secret"],
            "AWS_REGION": REGION,
        }

    def client(self):
        from s3fs import S3FileSystem

        return S3FileSystem(**self.fsspec, skip_instance_cache=True)

    def put(self, key, data):
        self.client().pipe_file(f"{BUCKET}/{key}", data)

    def stop(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture(scope="session")
def s3(tmp_path_factory):
    server = S3(tmp_path_factory.mktemp("s3"))
    yield server
    server.stop()


def some_bytes(seed, length):
    return random.Random(seed).randbytes(length)


@pytest.fixture(scope="session")
def objects(s3):
    """Objects of several lengths: names and bytes."""
    lengths = {"empty": 0, "byte": 1, "block": 4096, "odd": 1_234_567, "large": 8 << 20, "folder/inner/deep": 70_001}
    made = {name: some_bytes(number, length) for number, (name, length) in enumerate(lengths.items())}
    for name, data in made.items():
        s3.put(name, data)
    return made


@pytest.fixture
def folder(tmp_path):
    """A folder with files: its path and their bytes."""
    made = {f"file-{number}": some_bytes(number, 50_000 + number) for number in range(20)}
    place = tmp_path / "files"
    place.mkdir()
    for name, data in made.items():
        (place / name).write_bytes(data)
    return place, made
