"""The wheel holds every module of every folder, and their bare names cannot be imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {
    "lineal": "lineal",
    "planner": "lineal/planner",
    "kernels": "lineal/kernels",
    "engine": "lineal/engine",
    "examples": "lineal/examples",
}

pytestmark = pytest.mark.checkout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    # A copy without the caches of earlier builds: a stale build/ would hide a missing package.
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    for name in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--quiet",
        "--wheel-dir",
        str(out),
    ]
    # An older setuptools does not know SPDX licences: then pip fetches one for the build.
    if int(version("setuptools").split(".")[0]) >= 77:
        command.append("--no-build-isolation")
    done = subprocess.run(
        [*command, str(source)], capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("lineal-*.whl")
    return built


def test_wheel_holds_every_module(wheel: Path) -> None:
    expected = {
        f"{target}/{file.relative_to(ROOT / folder).as_posix()}"
        for folder, target in FOLDERS.items()
        for file in (ROOT / folder).rglob("*.py")
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {name for name in names if name.endswith(".py")} == expected
    assert names - expected == {"lineal/py.typed"}


def test_what_the_wheel_holds_imports_elsewhere(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        "from pathlib import Path\n"
        "import lineal, lineal.engine.explain, lineal.examples, lineal.planner.rules.algebra\n"
        "from lineal.examples import EXAMPLES\n"
        "for example in EXAMPLES.values():\n"
        "    example.function\n"
        "for module in (lineal, lineal.engine.explain, lineal.examples):\n"
        "    assert Path(module.__file__).is_relative_to(Path.cwd() / 'site'), module\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_wheel_is_pure_and_described(wheel: Path) -> None:
    from lineal._version import __version__

    assert wheel.name == f"lineal-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
        (entry,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
        assert "lineal = lineal.__main__:main" in archive.read(entry).decode()
    assert "\nLicense-Expression: BSD-3-Clause\n" in text
    assert "\nRequires-Python: >=3.11\n" in text


def test_every_folder_with_modules_is_a_listed_package() -> None:
    """What is missing from the list would be left out of the wheel without a word."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = {
        ".".join((target, *file.parent.relative_to(ROOT / folder).parts)).replace("/", ".")
        for folder, target in FOLDERS.items()
        for file in (ROOT / folder).rglob("*.py")
    }
    assert found == set(settings["packages"])


@pytest.mark.parametrize("name", ["planner", "kernels", "engine"])
def test_bare_folder_name_is_refused(name: str) -> None:
    code = (
        f"try:\n    import {name}\n"
        f"except ImportError as error:\n    assert 'lineal.{name}' in str(error), error\n"
        f"else:\n    raise SystemExit('import {name} made a second copy')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_changelog_is_kept() -> None:
    from lineal._version import __version__

    text = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in text or f"## [{__version__}]" in text
