"""The examples under plain NumPy give known right answers; the language's oracle must be right."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.cluster
import sklearn.decomposition
import sklearn.gaussian_process as gp
import sklearn.linear_model

from lineal.examples import EXAMPLES, data
from lineal.examples.als import als, als_observed
from lineal.examples.bfgs import bfgs
from lineal.examples.conjugate_gradient import conjugate_gradient
from lineal.examples.connected_components import connected_components
from lineal.examples.dfp import dfp, dfp_guarded
from lineal.examples.gnmf import gnmf
from lineal.examples.gp_posterior import gp_posterior
from lineal.examples.gradient_descent import gradient_descent
from lineal.examples.hits import hits
from lineal.examples.kalman import kalman
from lineal.examples.kmeans import kmeans
from lineal.examples.label_propagation import label_propagation
from lineal.examples.logistic_gradient import logistic_gradient
from lineal.examples.logistic_irls import logistic_irls
from lineal.examples.pagerank import pagerank
from lineal.examples.pca_power import pca_power
from lineal.examples.ridge_path import ridge_path


def _dense(arguments: dict[str, Any]) -> dict[str, Any]:
    return {k: v.toarray() if sp.issparse(v) else v for k, v in arguments.items()}


def _results(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _small(name: str) -> dict[str, Any]:
    return EXAMPLES[name].inputs("small", 3)


# -- all of them -----------------------------------------------------------------------------------


def test_there_are_enough() -> None:
    assert len({example.module for example in EXAMPLES.values()}) >= 16
    assert sum(example.real is not None for example in EXAMPLES.values()) >= 16


@pytest.mark.parametrize("name", EXAMPLES)
def test_runs_on_made_up_inputs(name: str) -> None:
    example = EXAMPLES[name]
    arguments = example.inputs("small")
    again = example.inputs("small")
    parameters = inspect.signature(example.function).parameters
    assert set(arguments) <= set(parameters)
    assert set(example.matrices) <= set(arguments)
    for result in _results(example.function(**arguments)):
        assert np.all(np.isfinite(result))
    for key, value in again.items():  # inputs are reproducible, and the program leaves them alone
        np.testing.assert_array_equal(arguments[key], value)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if EXAMPLES[name].real is not None])
def test_runs_on_real_data(name: str) -> None:
    example = EXAMPLES[name]
    assert example.real is not None
    assert example.source
    for result in _results(example.function(**_dense(example.real()))):
        assert np.all(np.isfinite(result))


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_runs_on_medium_inputs(name: str) -> None:
    example = EXAMPLES[name]
    for result in _results(example.function(**example.inputs("medium"))):
        assert np.all(np.isfinite(result))


@pytest.mark.parametrize("name", EXAMPLES)
def test_stays_in_the_language(name: str) -> None:
    """No construct that the language leaves out, so that a refusal is the planner's fault."""
    tree = ast.parse(inspect.getsource(EXAMPLES[name].function))
    statements = (ast.Try, ast.With, ast.Global, ast.Continue, ast.AnnAssign, ast.ClassDef)
    literals = (ast.List, ast.Dict, ast.Set, ast.JoinedStr, ast.Starred)
    generators = (ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Yield)
    banned = (*statements, *literals, *generators, ast.Lambda, ast.BoolOp, ast.IfExp, ast.NamedExpr)
    for node in ast.walk(tree):
        assert not isinstance(node, banned), f"line {node.lineno}: {type(node).__name__}"
        if isinstance(node, (ast.For, ast.While)):
            assert not any(isinstance(inner, ast.Return) for inner in ast.walk(node))


# -- least squares ---------------------------------------------------------------------------------


def _solution(arguments: dict[str, Any]) -> np.ndarray:
    return np.linalg.lstsq(arguments["A"], arguments["b"], rcond=None)[0]


def test_gradient_descent_finds_least_squares() -> None:
    arguments = {**_small("gradient_descent"), "iters": 2000}
    np.testing.assert_allclose(gradient_descent(**arguments), _solution(arguments), rtol=1e-8)


def test_gradient_descent_on_one_unknown() -> None:
    # x_k = (1 - (1 - 2 alpha)^k) b for A = 1
    x = gradient_descent(np.ones((1, 1)), np.full((1, 1), 3.0), iters=5, alpha=0.1)
    np.testing.assert_allclose(x, [[3 * (1 - 0.8**5)]], rtol=1e-14)


def test_dfp_approaches_least_squares() -> None:
    arguments = _small("dfp")
    A, b = arguments["A"], arguments["b"]
    best = np.linalg.norm(A @ _solution(arguments) - b)
    left = [np.linalg.norm(A @ dfp(A, b, k, 0.5) - b) - best for k in (5, 20, 60)]
    assert left[0] > left[1] > left[2] > -1e-12
    assert left[2] < 1e-9


def test_dfp_equals_its_guarded_form_where_there_is_curvature() -> None:
    arguments = _small("dfp")
    guarded, skipped = dfp_guarded(**arguments, x0=np.zeros((arguments["A"].shape[1], 1)))
    assert skipped == 0
    np.testing.assert_allclose(guarded, dfp(**arguments), rtol=1e-9)


@pytest.mark.parametrize("start", ["optimum", "flat"])
def test_pains_h16_h17_dfp_skips_updates_without_curvature(start: str) -> None:
    A = np.diag([1.0, 2.0, 0.0])  # a zero eigenvalue
    x0 = np.array([[1.0], [2.0], [7.0]])
    b = A @ x0 if start == "optimum" else np.array([[0.0], [0.0], [5.0]])
    x, skipped = dfp_guarded(A, b, x0 if start == "optimum" else np.zeros((3, 1)), 4, 0.5)
    assert skipped == 4
    np.testing.assert_array_equal(x, x0 if start == "optimum" else np.zeros((3, 1)))


def test_bfgs_ends_after_as_many_steps_as_unknowns() -> None:
    arguments = _small("bfgs")
    x, done, skipped = bfgs(**arguments)
    np.testing.assert_allclose(x, _solution(arguments), rtol=1e-8)
    assert done <= arguments["A"].shape[1] + 2
    assert skipped == 0


def test_pains_h17_bfgs_started_at_the_minimum() -> None:
    x, done, _ = bfgs(np.eye(1), np.zeros((1, 1)), np.zeros((1, 1)))
    assert (x[0, 0], done) == (0.0, 0)


def test_pains_h16_bfgs_with_a_zero_eigenvalue() -> None:
    A = np.diag([1.0, 2.0, 0.0])
    x, done, _ = bfgs(A, np.ones((3, 1)), np.full((3, 1), 4.0))
    np.testing.assert_allclose(x, [[1.0], [0.5], [4.0]], rtol=1e-9)
    assert done < 20


def test_conjugate_gradient_finds_least_squares() -> None:
    arguments = _small("conjugate_gradient")
    x, residual = conjugate_gradient(**arguments)
    np.testing.assert_allclose(x, _solution(arguments), rtol=1e-9)
    assert residual <= 1e-8 * np.linalg.norm(arguments["A"].T @ arguments["b"])


@pytest.mark.parametrize("tol", [0.0, 1e-10])
def test_pains_h19_conjugate_gradient_does_not_break_down(tol: float) -> None:
    A = np.array([[2.0, 1.5], [1.5, 3.0]])
    x, residual = conjugate_gradient(A, np.zeros(2), 10, tol)
    np.testing.assert_array_equal(x, [0, 0])
    assert residual == 0
    x, residual = conjugate_gradient(A, np.ones(2), 300, tol)  # many more than there are unknowns
    np.testing.assert_allclose(x, np.linalg.solve(A, np.ones(2)), rtol=1e-9)


def test_ridge_path_equals_scikit_learn() -> None:
    arguments = _small("ridge_path")
    W = ridge_path(**arguments)
    for i, penalty in enumerate(arguments["lambdas"]):
        model = sklearn.linear_model.Ridge(alpha=penalty, fit_intercept=False)
        model.fit(arguments["X"], arguments["y"])
        np.testing.assert_allclose(W[:, i], model.coef_, rtol=1e-8)


# -- classification --------------------------------------------------------------------------------


def test_pains_h14_logistic_gradient_does_not_penalise_the_intercept() -> None:
    arguments = {**_small("logistic_gradient"), "iters": 3000}
    w, c, loss = logistic_gradient(**arguments)
    model = sklearn.linear_model.LogisticRegression(C=1.0, tol=1e-12, max_iter=1000)
    model.fit(arguments["X"], arguments["y"])
    np.testing.assert_allclose(w, model.coef_[0], rtol=1e-5)
    np.testing.assert_allclose(c, model.intercept_[0], rtol=1e-5)
    assert 0 < loss < np.log(2)


def test_logistic_irls_finds_the_optimum() -> None:
    arguments = _small("logistic_irls")
    w, _ = logistic_irls(**arguments)
    model = sklearn.linear_model.LogisticRegression(
        C=1.0, fit_intercept=False, tol=1e-12, max_iter=1000
    )
    model.fit(arguments["X"], arguments["y"])
    np.testing.assert_allclose(w, model.coef_[0], rtol=1e-5)


def test_pains_h10_h11_logistic_irls_with_huge_values() -> None:
    w, loss = logistic_irls(np.array([[0.0], [1e100]]), np.array([0.0, 1.0]))
    assert np.all(np.isfinite(w))
    assert np.isfinite(loss)


# -- factorisation ---------------------------------------------------------------------------------


def test_gnmf_error_never_rises() -> None:
    arguments = _small("gnmf")
    errors = [gnmf(**{**arguments, "iters": k})[2] for k in (0, 1, 5, 20, 200)]
    assert errors == sorted(errors, reverse=True)
    W, H, error = gnmf(**{**arguments, "iters": 200})
    assert error < 0.05 * np.linalg.norm(arguments["V"])
    assert W.min() >= 0
    assert H.min() >= 0
    assert np.all(W[0] == 0)  # an empty row of V
    assert np.all(H[:, 1] == 0)


def test_als_reaches_a_fixed_point() -> None:
    arguments = {**_small("als"), "iters": 300}
    R, k, penalty = arguments["R"], arguments["V"].shape[1], 0.1
    U, V = als(**arguments)
    # At the optimum U V' is the SVD of R with the singular values lowered by the penalty.
    left, values, right = np.linalg.svd(R, full_matrices=False)
    best = (left[:, :k] * np.maximum(values[:k] - penalty, 0)) @ right[:k]
    np.testing.assert_allclose(U @ V.T, best, atol=1e-4)


def test_pains_h5_als_with_more_factors_than_items_and_empty_rows() -> None:
    rng = np.random.default_rng(0)
    U, V = als(np.eye(10), rng.standard_normal((10, 15)), 10, 0.1)
    assert np.all(np.isfinite(U))
    assert np.all(np.isfinite(V))
    R = rng.random((100, 50)) * (rng.random((100, 50)) < 0.1)
    R[7] = 0
    R[:, 3] = 0
    U, V = als(R, rng.standard_normal((50, 5)), 10, 10.0)
    assert np.all(np.isfinite(U))
    np.testing.assert_array_equal(U[7], 0)
    np.testing.assert_array_equal(V[3], 0)


def test_als_observed_fits_what_it_sees() -> None:
    rng = np.random.default_rng(0)
    full = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9))
    M = (rng.random((12, 9)) < 0.8).astype(float)
    U, V = als_observed(full * M, M, rng.standard_normal((9, 2)), 300, 1e-8)
    np.testing.assert_allclose((U @ V.T) * M, full * M, atol=1e-3)


def test_pca_power_equals_scikit_learn() -> None:
    arguments = _small("pca_power")
    V, variances = pca_power(**{**arguments, "iters": 300})
    model = sklearn.decomposition.PCA(n_components=3).fit(arguments["X"])
    np.testing.assert_allclose(variances, model.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(V * model.components_.T, axis=0)), 1, rtol=1e-8)


def test_pains_b8_pca_of_one_row() -> None:
    V, variances = pca_power(np.ones((1, 4)), np.ones((4, 2)))
    np.testing.assert_array_equal(variances, [0, 0])
    assert np.all(np.isfinite(V))


# -- graphs ----------------------------------------------------------------------------------------


def test_pains_h1_pagerank_keeps_the_mass_of_dangling_nodes() -> None:
    A = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])
    r = pagerank(A, np.full(3, 1 / 3))
    np.testing.assert_allclose(r, [0.18442, 0.34117, 0.47441], atol=5e-6)
    np.testing.assert_allclose(r.sum(), 1, rtol=1e-12)


def test_pains_h2_pagerank_personalised_and_dangling() -> None:
    A = np.array([[0.0, 1], [0, 0]])
    np.testing.assert_allclose(pagerank(A, np.array([0.0, 1.0])), [0, 1], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_pagerank_equals_networkx(seed: int) -> None:
    arguments = EXAMPLES["pagerank"].inputs("small", seed)
    graph = nx.from_numpy_array(arguments["A"], create_using=nx.DiGraph)
    expected = nx.pagerank(graph, tol=1e-14, max_iter=1000)
    got = pagerank(**arguments)
    np.testing.assert_allclose(got, [expected[i] for i in range(len(got))], rtol=1e-8)


@pytest.mark.parametrize("n", [0, 1])
def test_pains_b8_pagerank_of_no_and_one_node(n: int) -> None:
    np.testing.assert_allclose(pagerank(np.zeros((n, n)), np.ones(n)), np.ones(n))


def test_hits_equals_networkx() -> None:
    A = _small("hits")["A"]
    h, a = hits(A, 2000)
    hubs, authorities = nx.hits(nx.from_numpy_array(A, create_using=nx.DiGraph), max_iter=2000)
    np.testing.assert_allclose(h, [hubs[i] for i in range(len(h))], atol=1e-7)
    np.testing.assert_allclose(a, [authorities[i] for i in range(len(a))], atol=1e-7)


def test_hits_without_edges() -> None:
    h, a = hits(np.zeros((3, 3)))
    np.testing.assert_array_equal([h, a], np.zeros((2, 3)))


def test_label_propagation_equals_its_closed_form() -> None:
    arguments = {**_small("label_propagation"), "iters": 400}
    W, Y = arguments["W"], arguments["Y"]
    F, labels = label_propagation(**arguments)
    degree = np.where(W.sum(axis=1) > 0, W.sum(axis=1), 1)
    S = W / np.sqrt(np.outer(degree, degree))
    np.testing.assert_allclose(F, 0.1 * np.linalg.solve(np.eye(len(W)) - 0.9 * S, Y), rtol=1e-9)
    np.testing.assert_array_equal(labels, np.argmax(F, axis=1))


def test_label_propagation_on_the_karate_club() -> None:
    example = EXAMPLES["label_propagation"]
    assert example.real is not None
    _, labels = label_propagation(**_dense(example.real()))
    _, club = data.karate()
    assert np.mean(labels == club) > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_connected_components_equal_networkx(seed: int) -> None:
    A = EXAMPLES["connected_components"].inputs("small", seed)["A"]
    graph = nx.from_numpy_array(A + A.T)
    expected = np.empty(len(A), int)
    for component in nx.connected_components(graph):
        expected[list(component)] = min(component)
    np.testing.assert_array_equal(connected_components(A), expected)
    assert len(set(expected)) > 3


def test_connected_components_of_a_path_takes_many_rounds() -> None:
    A = np.diag(np.ones(40), 1)
    np.testing.assert_array_equal(connected_components(A), np.zeros(41))


# -- clustering, processes -------------------------------------------------------------------------


def test_pains_h8_kmeans_with_empty_clusters() -> None:
    X = np.array([[100, 100], [100, 102], [106, 100], [107, 101], [107, 101], [108, 100.0]])
    start = np.array([[98, 104], [103, 100], [109, 102], [110, 100], [111, 100], [112, 100.0]])
    C, labels, inertia, done = kmeans(X, start)
    assert inertia == 0
    assert done <= 3
    np.testing.assert_array_equal(C[labels], X)


def test_kmeans_equals_scikit_learn() -> None:
    arguments = _small("kmeans")
    C, labels, inertia, _ = kmeans(**arguments)
    model = sklearn.cluster.KMeans(4, init=arguments["start"], n_init=1, tol=0).fit(arguments["X"])
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_allclose(C, model.cluster_centers_, rtol=1e-9)
    np.testing.assert_allclose(inertia, model.inertia_, rtol=1e-9)


def test_pains_b8_kmeans_with_a_cluster_per_point() -> None:
    X = np.array([[0.0, 1], [2, 3], [4, 5]])
    C, labels, inertia, _ = kmeans(X, X)
    np.testing.assert_array_equal(C, X)
    np.testing.assert_array_equal(labels, [0, 1, 2])
    assert inertia == 0


def test_gp_posterior_equals_scikit_learn() -> None:
    arguments = _small("gp_posterior")
    mean, variance = gp_posterior(**arguments)
    model = gp.GaussianProcessRegressor(gp.kernels.RBF(1.0), alpha=0.1, optimizer=None)
    model.fit(arguments["X"], arguments["y"])
    expected, deviation = model.predict(arguments["Z"], return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(variance, deviation**2, rtol=1e-7)


def test_kalman_equals_conditioning_of_the_joint_gaussian() -> None:
    arguments = _small("kalman")
    F, G, Q, R, Z = (arguments[key] for key in "FGQRZ")
    P0, steps, n = arguments["P0"], 4, F.shape[0]
    states, P = kalman(**{**arguments, "Z": Z[:steps]})
    # Covariance of all states x_1..x_T, then of the measurements; x0 has mean 0.
    blocks = [[np.zeros((n, n))] * steps for _ in range(steps)]
    marginal = P0
    for t in range(steps):
        marginal = F @ marginal @ F.T + Q
        cross = marginal
        for later in range(t, steps):
            blocks[later][t], blocks[t][later] = cross, cross.T
            cross = F @ cross
    joint = np.block(blocks)
    big = np.kron(np.eye(steps), G)
    gain = joint @ big.T @ np.linalg.inv(big @ joint @ big.T + np.kron(np.eye(steps), R))
    np.testing.assert_allclose(states[-1], (gain @ Z[:steps].ravel())[-n:], rtol=1e-8)
    np.testing.assert_allclose(P, (joint - gain @ big @ joint)[-n:, -n:], rtol=1e-7, atol=1e-10)


# -- data ------------------------------------------------------------------------------------------


def test_real_data_is_what_it_says() -> None:
    assert data.digits()[0].shape == (1797, 64)
    assert data.diabetes()[0].shape == (442, 10)
    X, y = data.breast_cancer()
    assert X.shape == (569, 30)
    assert set(y) == {0.0, 1.0}
    V = data.reuters()
    assert V.shape == (395, 4258)
    assert (V.nnz, V.sum()) == (60114, 84010)
    A, club = data.karate()
    assert (A.shape, A.nnz) == ((34, 34), 156)
    assert np.bincount(club).tolist() == [17, 17]
