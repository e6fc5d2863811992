"""Programs that must be refused when they are planned; `# here` marks the line to be named."""

from __future__ import annotations

from typing import Any

import numpy as np

from lineal.errors import (
    AliasError,
    DTypeError,
    LinealError,
    ProgramError,
    ShapeError,
    StaticValueError,
    UnboundNameError,
    UnsupportedError,
)

A = np.arange(12.0).reshape(4, 3)
B = np.arange(20.0).reshape(4, 5)
x = np.arange(3.0)
y = np.arange(4.0)


# ------------------------------------------------------------------------ programs, by line
# The line that must be named carries the comment `# here`.


def matmul_inner(A, B):
    C = A @ B  # here
    return C


def matmul_vector(A, x):
    return A @ x[:2]  # here


def matmul_scalar(A):
    return 2 @ A  # here


def add_shapes(A, y):
    return A + y  # here


def solve_rectangular(A, y):
    return np.linalg.solve(A, y)  # here


def solve_right_side(A, y):
    M = A.T @ A
    return np.linalg.solve(M, y)  # here


def inverse_rectangular(A):
    return np.linalg.inv(A)  # here


def trace_of_vector(x):
    return np.trace(x)  # here


def axis_too_large(A):
    return A.sum(axis=2)  # here


def argmin_axis(A):
    return A.argmin(axis=2)  # here


def duplicate_axis(A):
    return A.sum(axis=(0, 0))  # here


def reshape_wrong(A):
    return A.reshape(5, 2)  # here


def reshape_3d(A):
    return A.reshape(2, 2, 3)  # here


def index_too_large(A):
    return A[7]  # here


def index_negative(A):
    return A[0, -4]  # here


def list_index(A):
    return A[[0, 9]]  # here


def too_many_indices(x):
    return x[0, 1]  # here


def float_index(x):
    return x[1.5]  # here


def mask_length(A, x):
    return A[x > 0]  # here


def step_zero(x):
    return x[::0]  # here


def concatenate_shapes(A, B):
    return np.concatenate([A, B])  # here


def three_dimensions(A):
    return A[:, :, None]  # here


def reduce_empty(x):
    return x[:0].max()  # here


def truth_of_array(x):
    if x > 0:  # here
        return x
    return -x


def while_of_array(x):
    while x > 0:  # here
        x = x - 1
    return x


def float_of_array(x):
    return float(x)  # here


def range_of_float(x):
    for _ in range(2.5):  # here
        x = x + 1
    return x


def range_step_zero(x):
    for _ in range(0, 5, 0):  # here
        x = x + 1
    return x


def loop_over_rows(A):
    t = 0.0
    for row in A:  # here
        t = t + row.sum()
    return t


def shape_changes_in_loop(x, n):
    for _ in range(n):  # here
        x = np.concatenate([x, x])
    return x


def types_on_paths(x):
    if x.sum() > 0:
        v = x
    else:
        v = x[:2]
    return v + 1  # here


def append(x):
    out = []
    for i in range(3):
        out.append(x[i])  # here
    return np.array(out)


def comprehension(x):
    return np.array([v * 2 for v in x])  # here


def fancy_function(x):
    return np.fft.fft(x)  # here


def unknown_method(x):
    return x.tolist()  # here


def unknown_keyword(x):
    return np.sum(x, where=x > 0)  # here


def printing(x):
    print(x)  # here
    return x


def global_random(x):
    return x + np.random.rand(3)  # here


def unseeded(x):
    rng = np.random.default_rng()  # here
    return x + rng.standard_normal(3)


def returns_nothing(x):  # here
    x = x + 1


def returns_string_method(x):
    return x.dtype.name.upper()  # here


def deletes(x):
    y = x + 1
    del y  # here
    return x


def imports(x):
    import math  # here

    return x * math.pi


def match_statement(x):
    match 3:  # here
        case _:
            return x


def assigns_attribute(x):
    x.shape = (1, 3)  # here
    return x


def unpack_too_few(A):
    p, q, r = A.shape  # here
    return p + q + r


def unpack_array(x):
    p, q, r = x  # here
    return p + q + r


def complex_constant(x):
    return x * 2j  # here


def complex_dtype(x):
    return x.astype(complex)  # here


def half_dtype(x):
    return x.astype(np.float16)  # here


def bad_dtype(x):
    return np.zeros(3, dtype="float99")  # here


def negative_power(x):
    return np.arange(3) ** -1  # here


def int8_overflow(x):
    return x.astype(np.int8) + 300  # here


def size_from_data(x):
    return np.zeros(int(x.sum()))  # here


def slice_from_data(x):
    k = x.argmax()
    return x[:k]  # here


def negative_size(x):
    return np.zeros(-1)  # here


def division_by_zero(x):
    return x * (1 // 0)  # here


def used_before(x):
    z = w + x  # here # noqa: F821
    w = x
    return z + w


def undefined_name(x):
    return x + nothing_of_that_name  # here # noqa: F821


def writes_input(x):
    x += 1  # here
    return x


def writes_view(A):
    C = A * 2
    row = C[0]
    row += 1  # here
    return C


def in_place_shape(x):
    v = x * 1.0
    v += np.ones((3, 3))  # here
    return v


def in_place_dtype(x):
    v = np.zeros(3, dtype=int)
    v += x  # here
    return v


def scalar_store(x):
    s = 0.0
    s[0] = x[0]  # here
    return s


def store_shape(A):
    C = np.zeros((2, 2))
    C[0] = A[0]  # here
    return C


def bitwise_float(x):
    return x & 1  # here


def einsum_axes(A):
    return np.einsum("ijk->i", A)  # here


def einsum_sizes(A, B):
    return np.einsum("ij,jk->ik", A, B)  # here


def norm_order(A):
    return np.linalg.norm(A, 3)  # here


def generator_method(x):
    rng = np.random.default_rng(0)
    return rng.gamma(2.0, size=3)  # here


def returns_generator(x):
    return np.random.default_rng(0)  # here


def ellipsis_twice(A):
    return A[..., ..., 0]  # here


def stacks_matrices(A):
    return np.stack([A, A])  # here


PROGRAMS: list[tuple[Any, tuple[Any, ...], type[LinealError], str]] = [
    (matmul_inner, (A, B), ShapeError, "A: float64[4, 3]"),
    (matmul_vector, (A, x), ShapeError, "x[:2]"),
    (matmul_scalar, (A,), ShapeError, "A"),
    (add_shapes, (A, y), ShapeError, "y: float64[4]"),
    (solve_rectangular, (A, y), ShapeError, "A: float64[4, 3]"),
    (solve_right_side, (A, y), ShapeError, "y: float64[4]"),
    (inverse_rectangular, (A,), ShapeError, "A"),
    (trace_of_vector, (x,), ShapeError, "x: float64[3]"),
    (axis_too_large, (A,), ShapeError, "A"),
    (argmin_axis, (A,), ShapeError, "A"),
    (duplicate_axis, (A,), ShapeError, "A"),
    (reshape_wrong, (A,), ShapeError, "A"),
    (reshape_3d, (A,), ShapeError, "A"),
    (index_too_large, (A,), ShapeError, "A"),
    (index_negative, (A,), ShapeError, "A"),
    (list_index, (A,), ShapeError, "A"),
    (too_many_indices, (x,), ShapeError, "x"),
    (float_index, (x,), DTypeError, "x"),
    (mask_length, (A, x), ShapeError, "A"),
    (step_zero, (x,), ShapeError, "x"),
    (concatenate_shapes, (A, B), ShapeError, "A"),
    (three_dimensions, (A,), ShapeError, "A"),
    (reduce_empty, (x,), ShapeError, "x[:0]"),
    (truth_of_array, (x,), ShapeError, "x > 0"),
    (while_of_array, (x,), ShapeError, "x > 0"),
    (float_of_array, (x,), ShapeError, "x"),
    (range_of_float, (x,), DTypeError, "2.5"),
    (range_step_zero, (x,), ProgramError, "step"),
    (loop_over_rows, (A,), UnsupportedError, "A"),
    (shape_changes_in_loop, (x, 9), ProgramError, "x"),
    (types_on_paths, (x,), ShapeError, "v"),
    (append, (x,), UnsupportedError, "append"),
    (comprehension, (x,), UnsupportedError, "comprehension"),
    (fancy_function, (x,), UnsupportedError, "np.fft.fft"),
    (unknown_method, (x,), UnsupportedError, "tolist"),
    (unknown_keyword, (x,), UnsupportedError, "where"),
    (printing, (x,), UnsupportedError, "print"),
    (global_random, (x,), UnsupportedError, "default_rng"),
    (unseeded, (x,), ProgramError, "seed"),
    (returns_nothing, (x,), UnsupportedError, "returns_nothing"),
    (returns_string_method, (x,), UnsupportedError, "upper"),
    (deletes, (x,), UnsupportedError, "del"),
    (imports, (x,), UnsupportedError, "import"),
    (match_statement, (x,), UnsupportedError, "match"),
    (assigns_attribute, (x,), UnsupportedError, "attribute"),
    (unpack_too_few, (A,), ShapeError, "3 name(s)"),
    (unpack_array, (x,), UnsupportedError, "tuple"),
    (complex_constant, (x,), DTypeError, "complex"),
    (complex_dtype, (x,), DTypeError, "complex"),
    (half_dtype, (x,), DTypeError, "float16"),
    (bad_dtype, (x,), DTypeError, "float99"),
    (negative_power, (x,), DTypeError, "negative"),
    (int8_overflow, (x,), DTypeError, "int8"),
    (size_from_data, (x,), StaticValueError, "int(x.sum())"),
    (slice_from_data, (x,), StaticValueError, "x"),
    (negative_size, (x,), ShapeError, "-1"),
    (division_by_zero, (x,), ProgramError, "ZeroDivisionError"),
    (used_before, (x,), UnboundNameError, "w"),
    (undefined_name, (x,), UnboundNameError, "nothing_of_that_name"),
    (writes_input, (x,), AliasError, "x"),
    (writes_view, (A,), AliasError, "C"),
    (in_place_shape, (x,), ShapeError, "v"),
    (in_place_dtype, (x,), DTypeError, "v"),
    (scalar_store, (x,), UnsupportedError, "s"),
    (store_shape, (A,), ShapeError, "C"),
    (bitwise_float, (x,), DTypeError, "x"),
    (einsum_axes, (A,), ShapeError, "A"),
    (einsum_sizes, (A, B), ShapeError, "A"),
    (norm_order, (A,), ShapeError, "A"),
    (generator_method, (x,), UnsupportedError, "gamma"),
    (returns_generator, (x,), ProgramError, "generator"),
    (ellipsis_twice, (A,), ShapeError, "A"),
    (stacks_matrices, (A,), ShapeError, "A"),
]
