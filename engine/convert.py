"""From what a user passes to what the engine computes with: ndarray, csr_array, Dask array.

The caller's object is never written: where a canonical form needs a change, a copy is changed.
Optional packages are looked for among the loaded modules only: a value cannot come from a
package that nobody has imported.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from lineal.errors import DTypeError, InputError, LinealError

if TYPE_CHECKING:
    import scipy.sparse

    Block = np.ndarray | scipy.sparse.csr_array

if __name__ != "lineal.engine.convert":  # a second copy of a class breaks isinstance
    raise ImportError("import this module as lineal.engine.convert")


@dataclass(frozen=True, slots=True)
class Converted:
    """A value in the engine's form; `shares` tells whether it uses the caller's own memory."""

    value: Any
    shares: bool


def is_sparse(value: object) -> TypeGuard[Any]:
    """Return whether `value` is a SciPy sparse array or matrix, of any format."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(value))


def is_dask_array(value: object) -> TypeGuard[Any]:
    """Return whether `value` is a dask.array.Array."""
    return _is_instance(value, "dask.array", "Array")


def is_frame(value: object) -> TypeGuard[Any]:
    """Return whether `value` is a pandas DataFrame or Series."""
    return _is_instance(value, "pandas", "DataFrame", "Series")


def is_dask_frame(value: object) -> TypeGuard[Any]:
    """Return whether `value` is a Dask DataFrame or Series."""
    return _is_instance(value, "dask.dataframe", "DataFrame", "Series")


def _is_instance(value: object, module: str, *names: str) -> bool:
    # a class cannot be there without the packages above its module being loaded
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, tuple(getattr(loaded, n) for n in names))


def shown(value: object, name: str) -> str:
    """Return `name: kind dtype[shape]` for an error's list of operands."""
    kind = type(value).__name__
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        return f"{name}: {kind} {dtype}[{', '.join(map(str, shape))}]"
    return f"{name}: {kind}"


def convert(value: object, name: str) -> Converted:
    """Return the engine's form of an array-like `value` (not of scalars and static values).

    Parameters
    ----------
    value : ndarray, SciPy sparse, Dask array, pandas or Dask frame
    name : str
        The operand's name in the user's program, for errors.

    Raises
    ------
    InputError
        The value's kind, shape or contents cannot be taken.
    DTypeError
        Its element type cannot.
    """
    if isinstance(value, np.ndarray):
        return _from_ndarray(value, name)
    if is_sparse(value):
        return _from_sparse(value, name)
    if is_dask_array(value):
        return _from_dask_array(value, name)
    if is_frame(value):
        return _from_frame(value, name)
    if is_dask_frame(value):
        return _from_dask_frame(value, name)
    raise _not_taken(value, name)


# -- element types and shapes ------------------------------------------------------------------


def check_dtype(dtype: np.dtype, operand: str) -> np.dtype:
    """Return `dtype` in native byte order, or raise DTypeError saying what to cast to."""
    if not isinstance(dtype, np.dtype):
        raise DTypeError(
            f"element type {dtype} is not a NumPy type",
            operands=(operand,),
            hint="convert with .astype(np.float64)",
        )
    dtype = dtype.newbyteorder("=")
    if dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize in (4, 8)):
        return dtype
    reason, hint = {
        "c": ("complex numbers are not supported", "pass .real and .imag as two arrays"),
        "f": (
            f"{dtype} is not supported, only float32 and float64 are",
            f"cast with .astype(np.float{32 if dtype.itemsize == 2 else 64})",
        ),
        "O": ("an object array has no numeric type", "convert with .astype(np.float64)"),
        "S": ("byte strings are not numbers", "convert with .astype(np.float64)"),
        "U": ("strings are not numbers", "convert with .astype(np.float64)"),
        "T": ("strings are not numbers", "convert with .astype(np.float64)"),
        "M": ("dates are not numbers", "subtract a start date and divide by a unit"),
        "m": (
            "time differences are not numbers",
            "divide by a unit such as np.timedelta64(1, 's')",
        ),
        "V": ("a structured array has no single type", "pass its fields as separate arrays"),
    }.get(dtype.kind, (f"element type {dtype} is not supported", "cast to np.float64"))
    raise DTypeError(reason, operands=(operand,), hint=hint)


def check_ndim(ndim: int, operand: str) -> None:
    """Raise InputError for more than two dimensions."""
    if ndim > 2:
        raise InputError(
            f"{ndim} dimensions are not supported, at most two are",
            operands=(operand,),
            hint="reshape to two dimensions, such as X.reshape(len(X), -1)",
        )


def _not_taken(value: object, name: str) -> LinealError:
    kind = type(value)
    operands = (shown(value, name),)
    hint = "pass a NumPy array, a SciPy sparse array, a Dask array or a pandas frame"
    if isinstance(value, (list, set, dict)):
        hint = f"np.asarray({name})" if isinstance(value, list) else hint
    elif isinstance(value, (np.random.Generator, np.random.RandomState)):
        hint = "pass a seed, and call np.random.default_rng(seed) inside the program"
    elif kind.__module__.split(".")[0] in ("zarr", "h5py"):
        hint = f"dask.array.from_array({name})"
    elif kind.__module__.split(".")[0] in ("pyarrow", "polars"):
        hint = f"{name}.to_pandas() or {name}.to_numpy()"
    elif hasattr(value, "__array__"):
        hint = f"np.asarray({name})"
    elif hasattr(value, "__float__"):
        hint = f"float({name})"
    return InputError(
        f"a {kind.__module__}.{kind.__qualname__} cannot be an input"
        if kind.__module__ != "builtins"
        else f"a {kind.__qualname__} cannot be an input",
        operands=operands,
        hint=hint,
    )


# -- NumPy --------------------------------------------------------------------------------------


def _from_ndarray(value: np.ndarray, name: str) -> Converted:
    operand = shown(value, name)
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(
            "a masked array's missing entries have no value here",
            operands=(operand,),
            hint=f"{name}.filled(value)",
        )
    if isinstance(value, np.matrix):
        raise InputError(
            "np.matrix gives * another meaning than arrays do",
            operands=(operand,),
            hint=f"np.asarray({name}), and @ for the matrix product",
        )
    if type(value) not in (np.ndarray, np.memmap):
        raise InputError(
            f"{type(value).__qualname__} is a subclass of ndarray with its own rules",
            operands=(operand,),
            hint=f"np.asarray({name})",
        )
    dtype = check_dtype(value.dtype, operand)
    check_ndim(value.ndim, operand)
    # A map is used through a plain view: results must not be memmap objects.
    plain = value.view(np.ndarray) if isinstance(value, np.memmap) else value
    # isnative rather than ==, because equal types of foreign order do not compare equal
    if not plain.dtype.isnative:
        return Converted(plain.astype(dtype), shares=False)
    return Converted(plain, shares=True)


# -- SciPy sparse -------------------------------------------------------------------------------


def _from_sparse(value: Any, name: str) -> Converted:
    operand = f"{shown(value, name)} ({value.format}, {value.nnz} stored)"
    dtype = check_dtype(value.dtype, operand)
    check_ndim(value.ndim, operand)
    _check_sparse(value, operand)
    if value.ndim < 2:  # a vector's dense form is small beside the matrices that it meets
        return Converted(np.asarray(value.toarray()).astype(dtype, copy=False), shares=False)
    return canonical_csr(value, operand)


def canonical_csr(value: Any, operand: str) -> Converted:
    """Return a csr_array with sorted columns, no duplicates, no stored zeros, native types.

    The arrays of a matrix that has this form already are shared, not copied.
    """
    from scipy.sparse import csr_array

    shares = value.format == "csr"
    matrix = value if shares else value.tocsr()
    if value.format == "lil":  # its row lists can hold anything
        _check_compressed(matrix, matrix.shape, operand)
    nnz = int(matrix.indptr[-1])
    data, indices = matrix.data[:nnz], matrix.indices[:nnz]
    if not data.dtype.isnative:
        data, shares = data.astype(data.dtype.newbyteorder("=")), False
    # A shell of our own: SciPy's in-place methods and cached flags must not reach the caller's.
    out = csr_array((data, indices, matrix.indptr), shape=matrix.shape, copy=False)
    if not out.has_canonical_format:
        if shares:
            out, shares = out.copy(), False
        out.sum_duplicates()
    if np.count_nonzero(out.data) != out.data.size:
        if shares:
            out, shares = out.copy(), False
        out.eliminate_zeros()
    return Converted(out, shares)


def _check_sparse(value: Any, operand: str) -> None:
    """Raise InputError where the index arrays would lead compiled code astray."""
    if value.format in ("csr", "csc", "bsr"):
        if value.ndim == 2:
            _check_compressed(value, value.shape, operand)
    elif value.format == "coo":
        coords = value.coords if hasattr(value, "coords") else (value.row, value.col)
        for axis, (index, size) in enumerate(zip(coords, value.shape, strict=True)):
            if len(index) != len(value.data):
                raise _bad_sparse("coordinates and data differ in length", operand)
            _check_range(index, size, f"coordinate along axis {axis}", operand)


def _check_compressed(value: Any, shape: tuple[int, int], operand: str) -> None:
    rows, columns = shape if value.format != "csc" else shape[::-1]
    if value.format == "bsr":
        rows, columns = rows // value.blocksize[0], columns // value.blocksize[1]
    indptr, indices = value.indptr, value.indices
    if indptr.ndim != 1 or len(indptr) != rows + 1:
        raise _bad_sparse(f"indptr has {len(indptr)} entries, not {rows + 1}", operand)
    if indptr[0] != 0:
        raise _bad_sparse(f"indptr[0] is {indptr[0]}, not 0", operand)
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if len(falls):
        at = int(falls[0])
        raise _bad_sparse(
            f"indptr decreases at {at + 1}: {indptr[at]} then {indptr[at + 1]}", operand
        )
    stored = int(indptr[-1])
    if stored > min(len(indices), len(value.data)):
        raise _bad_sparse(
            f"indptr ends at {stored}, but there are {len(indices)} indices and "
            f"{len(value.data)} values",
            operand,
        )
    _check_range(indices[:stored], columns, "index", operand)


def _check_range(index: np.ndarray, size: int, what: str, operand: str) -> None:
    if len(index) == 0:
        return
    if index.dtype.kind not in "iu":
        raise _bad_sparse(f"{what} has type {index.dtype}, not an integer type", operand)
    low, high = int(index.min()), int(index.max())
    if low < 0 or high >= size:
        at = int(np.flatnonzero((index < 0) | (index >= size))[0])
        raise _bad_sparse(f"{what} {index[at]} at position {at} is outside 0..{size - 1}", operand)


def _bad_sparse(reason: str, operand: str) -> InputError:
    return InputError(
        f"a damaged sparse matrix: {reason}",
        operands=(operand,),
        hint="build it anew with scipy.sparse.coo_array((data, (rows, columns)), shape=...)",
    )


# -- Dask arrays --------------------------------------------------------------------------------


def _from_dask_array(value: Any, name: str) -> Converted:
    operand = shown(value, name)
    check_ndim(value.ndim, operand)
    if any(size != size for sizes in value.chunks for size in sizes):  # NaN: not known
        raise InputError(
            "the Dask array has chunks of unknown length",
            operands=(operand,),
            hint=f"{name}.compute_chunk_sizes()",
        )
    dtype = check_dtype(value.dtype, operand)
    meta = value._meta  # the public attribute does not exist; documented for array authors
    if not (type(meta) is np.ndarray or np.isscalar(meta) or meta is None or is_sparse(meta)):
        raise InputError(
            f"blocks of type {type(meta).__module__}.{type(meta).__qualname__} are not supported",
            operands=(operand,),
            hint=f"{name}.map_blocks(np.asarray)",
        )
    if not value.dtype.isnative:
        value = value.astype(dtype)
    return Converted(value, shares=False)


def has_sparse_blocks(value: Any) -> bool:
    """Return whether a Dask array declares SciPy sparse blocks."""
    return is_sparse(value._meta)


# -- data frames --------------------------------------------------------------------------------


def _from_frame(value: Any, name: str) -> Converted:
    operand = shown(value, name)
    if value.ndim == 1:
        dtype = _column_dtype(value.dtype, value.name, operand)
        return Converted(_column(value, dtype, value.name, operand), shares=True)
    dtypes = list(value.dtypes)
    kinds = [
        _column_dtype(dtype, label, operand)
        for dtype, label in zip(dtypes, value.columns, strict=True)
    ]
    if not kinds:
        return Converted(np.empty(value.shape), shares=False)
    common = np.result_type(*kinds)
    if all(isinstance(dtype, np.dtype) and dtype == dtypes[0] for dtype in dtypes):
        return Converted(value.to_numpy(dtype=common), shares=True)
    out = np.empty(value.shape, dtype=common, order="F")
    for position, (kind, label) in enumerate(zip(kinds, value.columns, strict=True)):
        out[:, position] = _column(value.iloc[:, position], kind, label, operand)
    return Converted(out, shares=False)


def _column_dtype(dtype: Any, label: object, operand: str) -> np.dtype:
    """Return the NumPy type of a frame's column; an error names the column."""
    if type(dtype).__name__ == "SparseDtype":  # intervals have a `subtype` too
        plain = dtype.subtype
    else:
        plain = getattr(dtype, "numpy_dtype", dtype)
    where = f"{operand}, column {label!r}" if label is not None else operand
    if not isinstance(plain, np.dtype) or plain.kind not in "biufc":
        raise InputError(
            f"column {label!r} has type {dtype}, not numbers",
            operands=(where,),
            hint="drop the column, or encode it (pandas.get_dummies, .cat.codes)",
        )
    return check_dtype(plain, where)


def _column(series: Any, dtype: np.dtype, label: object, operand: str) -> np.ndarray:
    if not isinstance(series.dtype, np.dtype):
        missing = np.flatnonzero(np.asarray(series.isna()))
        # A sparse column of floats holds plain NaN; the nullable types hold "no value".
        if len(missing) and type(series.dtype).__name__ != "SparseDtype":
            raise InputError(
                f"column {label!r} misses a value in row {int(missing[0])}",
                operands=(operand,),
                hint=".fillna(value), .dropna(), or .astype('float64') to have NaN",
            )
        return np.asarray(series.to_numpy(dtype=dtype))
    return np.asarray(series.to_numpy()).astype(dtype, copy=False)


def _from_dask_frame(value: Any, name: str) -> Converted:
    operand = f"{name}: Dask {type(value).__name__}"
    if value.ndim == 1:
        common = _column_dtype(value.dtype, value.name, operand)
        uniform = value.dtype == common
    else:
        kinds = [
            _column_dtype(dtype, label, operand)
            for dtype, label in zip(value.dtypes, value.columns, strict=True)
        ]
        common = np.result_type(*kinds) if kinds else np.dtype(np.float64)
        uniform = all(dtype == common for dtype in value.dtypes)
    # One pass over the partitions' lengths, here and never again in the run.
    array = (value if uniform else value.astype(common)).to_dask_array(lengths=True)
    return Converted(array, shares=False)
