"""Builds the wheel: maturin's backend, after the command itself was built.

maturin builds one thing, the module. The wheel also has the command `forebay` as a program, since
`forebay.mount()` and people start it. `FOREBAY_WHEEL_PROFILE` names the cargo profile of both;
`dist` is the default, and tests take `dev`.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import maturin

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "target/wheel/forebay.data/scripts"


def _profile():
    return os.environ.get("FOREBAY_WHEEL_PROFILE", "dist")


def _settings(given):
    settings = dict(given or {})
    settings.setdefault("build-args", f"--profile {_profile()} --locked")
    return settings


def _build_command():
    """Puts the command where maturin takes programs from.

    The module is built along with it: so both share what they are made of, and maturin finds its
    part done.
    """
    command = ["cargo", "build", "--locked", "--profile", _profile(), "--message-format", "json-render-diagnostics"]
    command += ["--package", "forebay-cli", "--package", "forebay-python", "--no-default-features"]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    programs = [json.loads(line).get("executable") for line in built.stdout.splitlines()]
    [program] = [program for program in programs if program]
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    shutil.copy2(program, SCRIPTS / "forebay")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _build_command()
    return maturin.build_wheel(wheel_directory, _settings(config_settings), metadata_directory)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, _settings(config_settings))


def build_sdist(sdist_directory, config_settings=None):
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    return maturin.build_sdist(sdist_directory, config_settings)


get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
