"""Real data that installed packages carry.  The packages come with `pip install .[demo]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's handwritten digits: pixels [1797, 64] and digit [1797]."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, y


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's diabetes data: measurements [442, 10] and progression [442]."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return X, y


def breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """Return the breast cancer data, columns scaled: X [569, 30], y [569] of 0.0 and 1.0."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y.astype(np.float64)


def reuters() -> scipy.sparse.csr_array:
    """Return the word counts of the lda package's Reuters articles: [395, 4258], 3.6 % full."""
    from importlib.resources import files

    import scipy.sparse

    # Read from the file: the package's own reader leaves it open and makes a dense matrix first.
    lines = (files("lda") / "tests" / "reuters.ldac").read_text().splitlines()
    pairs = [[pair.split(":") for pair in line.split()[1:]] for line in lines]
    rows = np.repeat(np.arange(len(pairs)), [len(line) for line in pairs])
    words, counts = np.array([pair for line in pairs for pair in line], dtype=np.int64).T
    shape = (len(pairs), 4258)
    return scipy.sparse.csr_array((counts.astype(np.float64), (rows, words)), shape=shape)


def karate() -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Return Zachary's karate club: adjacency [34, 34], and each member's club (0 or 1) [34]."""
    import networkx
    import scipy.sparse

    graph = networkx.karate_club_graph()
    club = np.array([int(graph.nodes[node]["club"] != "Mr. Hi") for node in graph])
    adjacency = networkx.to_scipy_sparse_array(graph, weight=None, dtype=np.float64)
    return scipy.sparse.csr_array(adjacency), club
