"""Every example equals its plain function: in-process, on threads, on two worker processes.

Each matrix of an example is given in every form that the language takes.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse as sp

import lineal as la
from lineal.examples import EXAMPLES, Example

if TYPE_CHECKING:
    from distributed import Client

pytestmark = pytest.mark.checkout

FORMS = ("dense", "csr", "csc", "coo", "dask", "dask_uneven", "mapped")


def _coo_with_duplicates(A: np.ndarray) -> sp.coo_array:
    made = sp.coo_array(A)
    half = made.data * 0.5  # exact, so the two halves add up to the entry
    return sp.coo_array(
        (np.r_[half, half], (np.r_[made.row, made.row], np.r_[made.col, made.col])), shape=A.shape
    )


def _uneven(n: int) -> tuple[int, ...]:
    first = max(n // 3, 1)
    return (first, n - first) if n > first else (n,)


def as_form(A: np.ndarray, form: str, folder: Path) -> Any:
    """Return a matrix in one of FORMS."""
    if form == "dense" or A.ndim != 2:
        return A
    if form == "csr":
        return sp.csr_array(A)
    if form == "csc":
        return sp.csc_array(A)
    if form == "coo":
        return _coo_with_duplicates(A)
    if form == "mapped":
        path = folder / f"matrix{len(list(folder.iterdir()))}.npy"
        np.save(path, A)
        return np.load(path, mmap_mode="r")
    import dask.array as da

    m, n = A.shape
    if form == "dask":
        return da.from_array(A, chunks=(max(-(-m // 3), 1), n))
    return da.from_array(A, chunks=(_uneven(m), _uneven(n)))


def _moved(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        k: np.nextafter(v, np.inf) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v
        for k, v in arguments.items()
    }


def _parts(value: Any) -> list[np.ndarray]:
    listed = value if isinstance(value, tuple) else (value,)
    return [v.toarray() if sp.issparse(v) else np.asarray(v) for v in listed]


def assert_matches(
    example: Example, arguments: dict[str, Any], run: Callable[..., Any], given: dict[str, Any]
) -> None:
    """Compare with `.python` within rtol 1e-9, or 10 times its own sensitivity to one ulp."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = _parts(example.function(**arguments))
        moved = _parts(example.function(**_moved(arguments)))
    found = _parts(run(**given))
    assert len(found) == len(expected)
    for want, got, other in zip(expected, found, moved, strict=True):
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        if want.dtype.kind != "f":
            assert np.array_equal(want, got)
            continue
        assert np.array_equal(np.isnan(want), np.isnan(got))
        scale = np.abs(want).max(initial=0.0)
        slack = 10 * np.abs(np.nan_to_num(other - want)).max(initial=0.0)
        assert np.abs(np.nan_to_num(got - want)).max(initial=0.0) <= max(1e-9 * scale, slack)


def _given(example: Example, arguments: dict[str, Any], form: str, folder: Path) -> dict[str, Any]:
    given = dict(arguments)
    for name in example.matrices:
        given[name] = as_form(given[name], form, folder)
    return given


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda e: e.name)
def test_in_process(example: Example, form: str, tmp_path: Path) -> None:
    arguments = example.inputs("small")
    program = la.program(example.function)
    assert_matches(example, arguments, program, _given(example, arguments, form, tmp_path))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda e: e.name)
def test_on_threads(example: Example, form: str, tmp_path: Path) -> None:
    arguments = example.inputs("small")
    program = la.program(example.function)
    # Limits so small that every matrix of these examples is blocked.
    spec = la.ClusterSpec(workers=0, threads=2, driver_bytes=1500, block_bytes=3000)
    with la.Session(cluster=spec) as session:

        def run(**given: Any) -> Any:
            return program.run(**given, session=session)

        assert_matches(example, arguments, run, _given(example, arguments, form, tmp_path))


def _few_iterations(example: Example, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments for three iterations: one starts, one goes on, one ends with both behind.

    Every iteration is a round trip to the workers; long runs are in test_long_loops.py.
    """
    bound = inspect.signature(example.function).bind(**arguments)
    bound.apply_defaults()
    short = {k: min(v, 3) for k, v in bound.arguments.items() if k in ("iters", "max_iter")}
    if example.name == "kalman":  # a step for each measurement
        short["Z"] = arguments["Z"][:4]
    return {**arguments, **short}


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda e: e.name)
def test_on_two_workers(example: Example, form: str, tmp_path: Path, client: Client) -> None:
    arguments = _few_iterations(example, example.inputs("small"))
    program = la.program(example.function)
    spec = la.ClusterSpec(workers=2, threads=1, driver_bytes=1500, block_bytes=8000)
    with la.Session(client, cluster=spec) as session:

        def run(**given: Any) -> Any:
            return program.run(**given, session=session)

        assert_matches(example, arguments, run, _given(example, arguments, form, tmp_path))
