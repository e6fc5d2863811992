"""Textbook programs: plain NumPy functions, none written with the planner in mind.

    import lineal as la
    from lineal.examples.ridge_path import ridge_path, inputs
    W = la.program(ridge_path)(**inputs("small"))

`EXAMPLES` lists them all with their inputs, made up and real.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from lineal.examples import data


@dataclass(frozen=True, slots=True)
class Example:
    """One program.

    `module` is where it lies; `matrices` names the parameters that may be sparse or chunked;
    `real` gives arguments from real data, whose name is `source`; None where there is none.
    """

    name: str
    module: str
    matrices: tuple[str, ...]
    source: str = ""
    real: Callable[[], dict[str, Any]] | None = None
    make: str = "inputs"

    @property
    def function(self) -> Callable[..., Any]:
        """The plain NumPy function."""
        return getattr(import_module(f"lineal.examples.{self.module}"), self.name)

    def inputs(self, size: str = "small", seed: int = 0) -> dict[str, Any]:
        """Return made-up arguments; `size` is "small" or "medium"."""
        return getattr(import_module(f"lineal.examples.{self.module}"), self.make)(size, seed)


def _least_squares() -> dict[str, Any]:
    X, y = data.diabetes()
    return {"A": X, "b": y[:, None]}


def _descent() -> dict[str, Any]:
    arguments = _least_squares()
    alpha = float(0.5 / np.linalg.norm(arguments["A"], 2) ** 2)
    return {**arguments, "iters": 200, "alpha": alpha}


def _quasi_newton() -> dict[str, Any]:
    return {**_descent(), "iters": 20}


def _started_at_zero(arguments: dict[str, Any]) -> dict[str, Any]:
    return {**arguments, "x0": np.zeros((arguments["A"].shape[1], 1))}


def _conjugate() -> dict[str, Any]:
    X, y = data.diabetes()
    return {"A": X, "b": y}


def _ridge() -> dict[str, Any]:
    X, y = data.diabetes()
    return {"X": X, "y": y - y.mean(), "lambdas": np.logspace(-3, 3, 20)}


def _logistic() -> dict[str, Any]:
    X, y = data.breast_cancer()
    return {"X": X, "y": y}


def _topics() -> dict[str, Any]:
    V = data.reuters()
    rng = np.random.default_rng(0)
    m, n, k = *V.shape, 10
    return {"V": V, "W": 0.1 + rng.random((m, k)), "H": 0.1 + rng.random((k, n)), "iters": 20}


def _factors() -> dict[str, Any]:
    R = data.reuters()
    return {"R": R, "V": np.random.default_rng(0).standard_normal((R.shape[1], 10))}


def _ranks() -> dict[str, Any]:
    A, _ = data.karate()
    return {"A": A, "restart": np.full(A.shape[0], 1 / A.shape[0])}


def _club_graph() -> dict[str, Any]:
    return {"A": data.karate()[0]}


def _club_labels() -> dict[str, Any]:
    W, _ = data.karate()
    Y = np.zeros((W.shape[0], 2))
    Y[0, 0] = Y[W.shape[0] - 1, 1] = 1  # the two leaders' own clubs
    return {"W": W, "Y": Y}


def _digit_clusters() -> dict[str, Any]:
    X, y = data.digits()
    return {"X": X, "start": X[[int(np.flatnonzero(y == digit)[0]) for digit in range(10)]]}


def _digit_directions() -> dict[str, Any]:
    X, _ = data.digits()
    return {"X": X, "start": np.random.default_rng(0).standard_normal((X.shape[1], 5))}


def _progression() -> dict[str, Any]:
    X, y = data.diabetes()
    return {"X": X[:400], "y": (y[:400] - y[:400].mean()) / y.std(), "Z": X[400:], "length": 0.2}


EXAMPLES: dict[str, Example] = {
    example.name: example
    for example in (
        Example("gradient_descent", "gradient_descent", ("A",), "diabetes", _descent),
        Example("dfp", "dfp", ("A",), "diabetes", _quasi_newton),
        Example(
            "dfp_guarded",
            "dfp",
            ("A",),
            "diabetes",
            lambda: _started_at_zero(_quasi_newton()),
            make="inputs_guarded",
        ),
        Example("bfgs", "bfgs", ("A",), "diabetes", lambda: _started_at_zero(_least_squares())),
        Example("conjugate_gradient", "conjugate_gradient", ("A",), "diabetes", _conjugate),
        Example("ridge_path", "ridge_path", ("X",), "diabetes", _ridge),
        Example("logistic_gradient", "logistic_gradient", ("X",), "breast cancer", _logistic),
        Example("logistic_irls", "logistic_irls", ("X",), "breast cancer", _logistic),
        Example("gnmf", "gnmf", ("V",), "Reuters word counts", _topics),
        Example("als", "als", ("R",), "Reuters word counts", _factors),
        Example("als_observed", "als", ("R", "M"), make="inputs_observed"),
        Example("pagerank", "pagerank", ("A",), "karate club", _ranks),
        Example("hits", "hits", ("A",), "karate club", _club_graph),
        Example("kmeans", "kmeans", ("X",), "digits", _digit_clusters),
        Example("pca_power", "pca_power", ("X",), "digits", _digit_directions),
        Example("gp_posterior", "gp_posterior", ("X", "Z"), "diabetes", _progression),
        Example("kalman", "kalman", ("F", "G", "Q", "R", "P0")),
        Example("label_propagation", "label_propagation", ("W",), "karate club", _club_labels),
        Example("connected_components", "connected_components", ("A",), "karate club", _club_graph),
    )
}
"""Every example by name."""
