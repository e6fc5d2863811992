"""Law 2: inputs are never written, shared storage is never changed behind a name's back."""

from __future__ import annotations

import numpy as np
import pytest

import lineal as la
from lineal.errors import AliasError

from .harness import agree

A = np.arange(12.0).reshape(4, 3)
x = np.arange(5.0)


# ------------------------------------------------------------------------- what is allowed


def test_fresh_local_may_be_updated_in_place():
    def f(x):
        y = x * 2
        y += 1
        y[0] = 7
        y[1:3] *= 2
        return y

    agree(f, x)


def test_copy_unshares():
    def f(x):
        y = x.copy()
        y += 1
        z = np.copy(y)
        z[0] = 5
        return y, z

    agree(f, x)


def test_dead_name_does_not_count():
    def f(x):
        y = x * 2
        z = y
        z += 1  # y is not read any more
        return z

    agree(f, x)


def test_rebinding_ends_sharing():
    def f(x):
        y = x * 2
        z = y
        y = x * 3
        z += 1
        return y, z

    agree(f, x)


def test_mask_and_integer_indexing_copy():
    def f(A):
        B = A * 2
        rows = B[[0, 2]]
        kept = B[B[:, 0] > 0]
        rows += 1
        kept[0] = 9
        return B, rows, kept

    agree(f, A)


def test_flatten_copies_and_ravel_shares():
    def f(A):
        B = A * 2
        flat = B.flatten()
        flat += 1
        return B, flat

    def g(A):
        B = A * 2
        flat = B.ravel()
        flat += 1
        return B, flat

    agree(f, A)
    with pytest.raises(AliasError):
        la.program(g)(A)


def test_scalars_are_values():
    def f(a, s):
        t = s
        t += 1
        b = a.sum()
        c = b
        c += 1
        return t, s, b, c

    agree(f, x, 2)
    agree(f, x, 2.5)
    agree(f, x, np.float64(2.5))


def test_result_never_aliases_an_input():
    def f(x, A):
        return x, A.T, A[0]

    program = la.program(f)
    found = program(x, A)
    for value in found:
        assert not np.shares_memory(value, x)
        assert not np.shares_memory(value, A)
        assert value.flags.writeable
        value[...] = -1
    assert x[1] == 1
    assert A[0, 1] == 1


def test_two_results_never_share():
    def f(x):
        y = x * 2
        return y, y, y[1:]

    a, b, c = la.program(f)(x)
    assert not np.shares_memory(a, b)
    assert not np.shares_memory(a, c)


def test_results_of_two_calls_never_share():
    def f(n):
        return np.ones(3), np.array([1.0, 2.0])

    program = la.program(f)
    first = program(1)
    first[0][:] = 9
    first[1][:] = 9
    second = program(1)
    assert second[0].tolist() == [1, 1, 1]
    assert second[1].tolist() == [1, 2]


def test_read_only_input_is_fine():
    frozen = x.copy()
    frozen.flags.writeable = False

    def f(x):
        y = x + 0
        y += 1
        return y

    agree(f, frozen)


def test_row_of_matrix_updated_by_index():
    def f(A):
        B = A.copy()
        for i in range(B.shape[0]):
            B[i] = B[i] * 2 + i
            B[i, 0] += 1
        return B

    agree(f, A)


# ------------------------------------------------------------------- what is refused, and how


def _param(x):
    x += 1
    return x


def _param_item(x):
    x[0] = 1
    return x


def _param_view(A):
    row = A[0]
    row += 1
    return A


def _param_transposed(A):
    B = A.T
    B[0, 0] = 1
    return B


def _local_view(A):
    B = A * 2
    row = B[0]
    row += 1
    return B, row


def _local_view_other_way(A):
    B = A * 2
    row = B[0]
    B += 1
    return B, row


def _two_names(x):
    y = x * 2
    z = y
    z += 1
    return y, z


def _diagonal(A):
    B = A[:3] * 2
    d = np.diag(B)
    d += 1
    return B, d


def _reshape(x):
    y = x * 2
    z = y.reshape(5, 1)
    z[0, 0] = 3
    return y, z


def _asarray(x):
    y = np.asarray(x)
    y += 1
    return y


def _in_tuple(x):
    y = x * 2
    pair = (y, x)
    y += 1
    return pair


def _unpacked(x):
    y = x * 2
    pair = (y, 1.0)
    z, k = pair
    z += k
    return y


def _in_loop(x):
    y = x * 2
    kept = y
    for _ in range(3):
        y += 1
    return y, kept


def _previous_in_loop(x):
    y = x * 2
    last = y
    for _ in range(3):
        last = y
        y += 1
    return y, last


def _swapped_in_loop(x):
    a = x * 2
    b = x * 3
    for _ in range(3):
        a, b = b, a
        c = a
        a += 1
        b = b + c
    return a, b


def _branch(x):
    y = x * 2
    z = x * 3
    if x.sum() > 0:
        z = y
    z += 1
    return y, z


def _helper_view(A):
    return A[0]


def _inlined_view(A):
    B = A * 2
    row = _helper_view(B)
    row += 1
    return B, row


def _helper_same(A):
    return A


def _inlined_same(A):
    B = A * 2
    C = _helper_same(B)
    C += 1
    return B, C


def _helper_writes(A):
    A += 1
    return A


def _inlined_write(A):
    B = A * 2
    C = _helper_writes(B)
    return C


hidden = np.arange(5.0)


def _global_write(x):
    y = hidden
    y += x
    return y


def _squeezed(A):
    B = A[:, :1] * 2
    v = np.squeeze(B)
    v += 1
    return B, v


def _conditional(x, flag):
    y = x * 2
    z = y if x.sum() > 0 else x * 3
    z += 1
    return y, z


REFUSED = [
    (_param, (x,), "x"),
    (_param_item, (x,), "x"),
    (_param_view, (A,), "A"),
    (_param_transposed, (A,), "A"),
    (_local_view, (A,), "B"),
    (_local_view_other_way, (A,), "row"),
    (_two_names, (x,), "y"),
    (_diagonal, (A,), "B"),
    (_reshape, (x,), "y"),
    (_asarray, (x,), "x"),
    (_in_tuple, (x,), "pair"),
    (_unpacked, (x,), "y"),
    (_in_loop, (x,), "kept"),
    (_previous_in_loop, (x,), "last"),
    (_swapped_in_loop, (x,), "c"),
    (_branch, (x,), "y"),
    (_inlined_view, (A,), "B"),
    (_inlined_same, (A,), "B"),
    (_inlined_write, (A,), "A"),
    (_global_write, (x,), "hidden"),
    (_squeezed, (A,), "B"),
    (_conditional, (x, 1), "y"),
]


@pytest.mark.parametrize(
    ("function", "args", "other"), REFUSED, ids=lambda v: getattr(v, "__name__", "")
)
def test_refused(function, args, other):
    before = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    with pytest.raises(AliasError) as caught:
        la.program(function)(*args)
    text = str(caught.value)
    assert repr(other) in text
    assert "Try:" in text
    assert "line " in text
    for was, now in zip(before, args, strict=True):
        np.testing.assert_array_equal(was, now)
