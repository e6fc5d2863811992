"""The command line: results, exit codes 0/1/2, JSON, silence where there is no terminal."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lineal as la
from lineal.engine.cli import cli

PROGRAM = """
import numpy as np


def ridge(A, b, lam=0.1):
    return np.linalg.solve(A.T @ A + lam * np.eye(A.shape[1]), A.T @ b)


def both(A):
    return A.sum(axis=0), A.T


def fails(A):
    return np.linalg.inv(A)


def bad(A):
    return np.linalg.sovle(A, A)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(PROGRAM)
    rng = np.random.default_rng(0)
    np.save("A.npy", rng.normal(size=(20, 3)))
    np.save("b.npy", rng.normal(size=20))
    np.save("Z.npy", np.zeros((3, 3)))
    return tmp_path


def test_run_writes_what_the_program_returns(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = [
        "run",
        "prog.py:ridge",
        "-i",
        "A=A.npy",
        "-i",
        "b=b.npy",
        "-i",
        "lam=0.5",
        "-o",
        "x.npy",
    ]
    assert cli(args) == 0
    A, b = np.load("A.npy"), np.load("b.npy")
    want = np.linalg.solve(A.T @ A + 0.5 * np.eye(3), A.T @ b)
    assert np.allclose(np.load("x.npy"), want)
    told = capsys.readouterr()
    assert "float64 (3,)" in told.out
    assert "\x1b" not in told.err  # no bars, no colours: this is no terminal


def test_run_prints_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["run", "prog.py:both", "-i", "A=A.npy", "--json", "-o", "r.npz"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [r["shape"] for r in found["results"]] == [[3], [3, 20]]
    assert np.array_equal(np.load("r.npz")["result1"], np.load("A.npy").T)


def test_explain(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["explain", "prog.py:ridge", "-s", "A=1e6x50", "-s", "b=1000000"]) == 0
    assert "solve" in capsys.readouterr().out
    assert cli(["explain", "prog.py:ridge", "-s", "A=100x5:0.1", "-s", "b=100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "ridge"


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["run", "prog.py:fails", "-i", "A=Z.npy"], 1, "Singular"),
        (["run", "prog.py:bad", "-i", "A=Z.npy"], 1, "line"),
        (["run", "prog.py:ridge", "-i", "A=A.npy", "-i", "b=Z.npy"], 1, "matmul"),
        (["run", "prog.py:ridge", "-i", "A=gone.npy", "-i", "b=b.npy"], 1, "gone.npy"),
        (["run", "prog.py:ridge", "-i", "A=A.npy", "-i", "b=abc"], 1, "no Python number"),
        (["run", "prog.py:ridge", "-i", "A=A.npy"], 2, "missing argument 'b'"),
        (["run", "prog.py:ridge", "-i", "c=1"], 2, "unknown argument 'c'"),
        (["run", "prog.py:ridge", "-i", "A=A.npy", "-i", "A=A.npy"], 2, "twice"),
        (["run", "prog.py:ridge", "-i", "A"], 2, "NAME=VALUE"),
        (["run", "prog.py:nope"], 2, "nope"),
        (["run", "prog.py"], 2, "FILE:FUNC"),
        (["run", "gone.py:f"], 2, "no file"),
        (["run", "prog.py:both", "-i", "A=A.npy", "-o", "no/r.npz"], 2, "no folder"),
        (["run", "prog.py:both", "-i", "A=A.npy", "-o", "r.txt"], 2, ".npy or .npz"),
        (["explain", "prog.py:both", "-s", "A=2xx"], 2, "MxN"),
        (["explain", "prog.py:both", "-s", "A=2x2", "--format", "pdf"], 2, "pdf"),
        (["demo", "--only", "nope"], 2, "nope"),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_failures_have_their_code(
    folder: Path, capsys: pytest.CaptureFixture[str], args: list[str], code: int, told: str
) -> None:
    assert cli(args) == code
    assert told in capsys.readouterr().err


def test_version_info_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["--version"]) == 0
    assert la.__version__ in capsys.readouterr().out
    assert cli(["info", "--json"]) == 0
    assert "numpy" in json.loads(capsys.readouterr().out)["versions"]
    for command in ([], ["run"], ["explain"], ["demo"], ["info"]):
        assert cli([*command, "--help"]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_demo_of_one_example(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    assert cli(["demo", "--only", "ridge_path", "--no-cluster", "--json"]) == 0
    (outcome,) = json.loads(capsys.readouterr().out)
    assert outcome["right"]
    assert outcome["cluster_seconds"] is None


def test_the_entry_point_runs_as_a_module(run_python) -> None:
    done = run_python(
        "import runpy, sys; sys.argv = ['lineal', '--version']; "
        "runpy.run_module('lineal', run_name='__main__')"
    )
    assert done.returncode == 0
    assert la.__version__ in done.stdout
