"""The small dense factorisations inside the tasks of tall QR, SVD and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from lineal.engine.blocked.tasks import dense


def factor(block: Any) -> tuple[Any, Any]:
    """Return (Q, R) of one block of rows; with fewer rows than columns R is wide."""
    return np.linalg.qr(dense(block), mode="reduced")


def triangle(block: Any) -> Any:
    """Return R of one block of rows."""
    return np.linalg.qr(dense(block), mode="r")


def triangle_of_stack(*triangles: Any) -> Any:
    """Return R of stacked triangles."""
    return np.linalg.qr(np.concatenate(triangles, axis=0), mode="r")


def factor_stack(*triangles: Any) -> tuple[Any, Any]:
    """Return (Q, R) of stacked triangles."""
    return np.linalg.qr(np.concatenate(triangles, axis=0), mode="reduced")


def rows_of_child(index: int, pair: tuple[Any, Any], *triangles: Any) -> Any:
    """Return the rows of a stack's Q that belong to its `index`-th triangle."""
    first = sum(triangle.shape[0] for triangle in triangles[:index])
    return pair[0][first : first + triangles[index].shape[0]].copy()


def lapack_signs(square: bool, triangle: Any, *blocks: Any) -> Any:
    """Return the signs that LAPACK's Householder QR would have given the columns of Q.

    R's k-th diagonal entry gets the sign opposite to that of the entry which the k-th reflection
    meets; that entry follows from the first n rows of Q alone, by the elimination of Ballard et
    al., "Reconstructing Householder vectors from tall-skinny QR" (2014).  `square`: the last
    column of a square matrix is not reflected.  Where the entry is a mere rounding error, so is
    its sign, in LAPACK as here.
    """
    top = np.concatenate(blocks, axis=0)
    n = top.shape[1]
    work = top[:n].astype(np.float64)
    signs = np.ones(n)
    for k in range(n):
        pivot = work[k, k]
        if square and k == n - 1:
            signs[k] = 1.0 if pivot >= 0 else -1.0
            break
        if pivot == 0:  # a true zero counts as positive: R's entry is to be negative
            signs[k] = -1.0 if triangle[k, k] >= 0 else 1.0
        else:
            signs[k] = -1.0 if pivot > 0 else 1.0
        denominator = 1.0 - signs[k] * pivot
        column = work[k:, k].copy()
        column[0] -= signs[k]
        factors = signs[k] * work[k, k + 1 :] / denominator
        work[k:, k + 1 :] += np.outer(column, factors)
    return signs.astype(top.dtype)


def scale_columns(signs: Any, block: Any) -> Any:
    """Return the block with column k times signs[k]."""
    return block * signs


def scale_rows(signs: Any, block: Any) -> Any:
    """Return the block with row k times signs[k]."""
    return block * signs[:, None]


def singular_values(block: Any) -> Any:
    """Return the singular values of a small matrix."""
    return np.linalg.svd(block, compute_uv=False)


def small_svd(block: Any) -> tuple[Any, Any, Any]:
    """Return (U, s, Vt) of a small square matrix."""
    left, values, right = np.linalg.svd(block, full_matrices=False)
    return left, values, right


def side_by_side(left: Any, right: Any) -> Any:
    """Return [A b] of one block of rows, in the precision that NumPy would solve in."""
    right = dense(right)
    left = dense(left)
    kind = np.result_type(left.dtype, right.dtype)
    kind = kind if kind.kind == "f" else np.dtype(np.float64)
    return np.concatenate(
        [left.astype(kind, copy=False), right.reshape(len(right), -1).astype(kind, copy=False)],
        axis=1,
    )


def solve(
    facts: tuple[int, int, bool, str], rcond: Any, triangle: Any
) -> tuple[Any, Any, Any, Any]:
    """Return (x, residuals, rank, singular values) from the triangle of [A b].

    `facts` are (rows, columns, is b a vector, dtype).
    """
    rows, columns, vector, kind = facts
    upper_left, rotated = triangle[:columns, :columns], triangle[:columns, columns:]
    below = triangle[columns:, columns:]
    if rcond is None:
        rcond = np.finfo(triangle.dtype).eps * max(rows, columns)
    elif rcond == -1:
        rcond = np.finfo(triangle.dtype).eps
    left, values, right = np.linalg.svd(upper_left)
    rank = int(np.count_nonzero(values > rcond * values[0])) if len(values) else 0
    kept = values[:rank, None]
    x = right[:rank].T @ ((left[:, :rank].T @ rotated) / kept)
    residuals = np.sum(below * below, axis=0) if rank == columns else np.zeros(0)
    x, residuals, values = (v.astype(kind, copy=False) for v in (x, residuals, values))
    return (x[:, 0] if vector else x), residuals, np.int32(rank), values
