"""Files as inputs: `.npy` (memory mapped), `.npz` (NumPy's or SciPy's), `.mtx` (Matrix Market).

Nothing is ever unpickled, and a file that is not what it claims to be gives a ReadError with
the file and the place in it.
"""

from __future__ import annotations

import bz2
import gzip
import math
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from lineal.engine.convert import convert
from lineal.errors import LinealError, OptionError, ReadError

if __name__ != "lineal.engine.readers":  # a second copy of a class breaks isinstance
    raise ImportError("import this module as lineal.engine.readers")

__all__ = ["SUFFIXES", "read"]

SUFFIXES = (".npy", ".npz", ".mtx", ".mtx.gz", ".mtx.bz2")
"""The endings of file names that `read` knows."""


def read(path: str | os.PathLike[str], *, key: str | None = None) -> Any:
    """Return the array in a file.

    Parameters
    ----------
    path : path-like
        `.npy`: a read-only memory map; the entries are read when they are used.
        `.npz`: one array, or what `scipy.sparse.save_npz` wrote as a csr_array.
        `.mtx`, also `.mtx.gz` and `.mtx.bz2`: a coordinate file as a csr_array, an array file
        as an ndarray; the half that a symmetric or skew-symmetric file leaves out is filled
        in, and the entries of a pattern file are 1.0.
    key : str, optional
        Which array of an `.npz` file with several.

    Raises
    ------
    ReadError
        The file is missing, damaged, cut short, of an unknown kind, or holds objects.
    OptionError
        `key` for a file without keys.
    """
    file = Path(path)
    name = file.name.lower()
    if not name.endswith(SUFFIXES):
        raise ReadError(
            f"{file}: no reader for files that end in {file.suffix or 'nothing'!r}",
            hint="one of " + ", ".join(SUFFIXES),
        )
    if key is not None and not name.endswith(".npz"):
        raise OptionError(f"key={key!r}: {file} has no keys", hint="only .npz files have them")
    try:
        if file.is_dir():
            raise ReadError(f"{file}: a folder, not a file")
        if name.endswith(".npy"):
            return _read_npy(file)
        if name.endswith(".npz"):
            return _read_npz(file, key)
        return _read_mtx(file)
    except LinealError:
        raise
    except FileNotFoundError:
        raise ReadError(
            f"{file}: no such file", hint=f"it was looked for in {Path.cwd()}"
        ) from None
    except OSError as error:
        raise ReadError(f"{file}: {error.strerror or error}") from error


# -- .npy ------------------------------------------------------------------------------------------


def _read_npy(file: Path) -> np.ndarray:
    with file.open("rb") as stream:
        shape, fortran, dtype = _npy_header(stream, str(file))
        offset = stream.tell()
        size = os.fstat(stream.fileno()).st_size
        needed = offset + math.prod(shape) * dtype.itemsize
        if size < needed:
            raise ReadError(
                f"{file}: cut short: the header (to offset {offset}) tells of {needed} bytes, "
                f"the file ends at {size}",
                hint="copy or write the file again",
            )
        if not shape or 0 in shape:  # nothing to map
            return np.fromfile(stream, dtype, math.prod(shape)).reshape(shape)
    order: Literal["F", "C"] = "F" if fortran else "C"
    mapped: np.ndarray = np.memmap(file, dtype, "r", offset, shape, order)
    return mapped


def _npy_header(stream: BinaryIO, where: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    start = stream.read(8)
    if start[:6] != b"\x93NUMPY":
        raise ReadError(
            f"{where}: not a .npy file: at offset 0 there is {start[:6]!r}",
            hint="write it with np.save",
        )
    stream.seek(-len(start), os.SEEK_CUR)
    try:
        version = np.lib.format.read_magic(stream)
        # Version 3 differs in the encoding of field names only, and fields are not taken.
        reader = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = reader(stream)
    except (ValueError, EOFError, TypeError, SyntaxError) as error:
        raise ReadError(f"{where}: damaged header from offset 6 on: {_line(error)}") from error
    if dtype.hasobject:
        raise ReadError(
            f"{where}: holds Python objects, which are never unpickled",
            hint="save a numeric array: np.save(file, X.astype(np.float64))",
        )
    if any(dim < 0 for dim in shape):
        raise ReadError(f"{where}: damaged header from offset 6 on: shape {shape}")
    return shape, fortran, dtype


# -- .npz ------------------------------------------------------------------------------------------


def _read_npz(file: Path, key: str | None) -> Any:
    with file.open("rb") as stream:
        if not zipfile.is_zipfile(stream):
            size = os.fstat(stream.fileno()).st_size
            stream.seek(0)
            start = stream.read(4)
            reason = (
                f"cut short: its table of contents is not at the end (offset {size})"
                if start == b"PK\x03\x04"
                else f"not an .npz file: at offset 0 there is {start!r}"
            )
            raise ReadError(f"{file}: {reason}", hint="write it with np.savez")
        stream.seek(0)
        try:
            with np.load(stream, allow_pickle=False) as members:
                names = list(members.files)
                if key is None and {"format", "shape"} <= set(names):
                    return _sparse_npz(file)
                return members[_member(names, key, file)]
        except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError) as error:
            if isinstance(error, LinealError):
                raise
            raise ReadError(f"{file}: damaged or not numeric: {_line(error)}") from error


def _member(names: list[str], key: str | None, file: Path) -> str:
    if key is not None and key not in names:
        raise ReadError(f"{file}: there is no array {key!r}", hint="one of " + ", ".join(names))
    if key is None and len(names) != 1:
        hint = f"read(path, key=...) with one of {', '.join(names)}" if names else ""
        raise ReadError(f"{file}: holds {len(names)} arrays, not one", hint=hint)
    return names[0] if key is None else key


def _sparse_npz(file: Path) -> Any:
    import scipy.sparse

    with file.open("rb") as stream:
        return _taken(scipy.sparse.load_npz(stream), file)


# -- .mtx ------------------------------------------------------------------------------------------


def _read_mtx(file: Path) -> Any:
    import scipy.io

    # A stream of our own: given a name, SciPy leaves the file open when it fails.
    with _decompressed(file) as stream:
        try:
            matrix = scipy.io.mmread(stream)
        except (ValueError, OverflowError, EOFError, TypeError, zlib.error) as error:
            reason = _line(error)  # begins with the line where SciPy knows one
            if reason.startswith("Truncated"):
                stream.seek(0)
                reason = f"cut short after line {sum(1 for _ in stream)}: {reason}"
            raise ReadError(
                f"{file}: not a sound Matrix Market file: {reason}",
                hint="line 1 reads %%MatrixMarket matrix coordinate real general, or similar",
            ) from error
    return _taken(matrix, file)


def _decompressed(file: Path) -> BinaryIO:
    if file.name.lower().endswith(".gz"):
        return gzip.open(file)  # type: ignore[return-value]  # reads like one
    if file.name.lower().endswith(".bz2"):
        return bz2.open(file)  # type: ignore[return-value]  # reads like one
    return file.open("rb")


def _taken(value: Any, file: Path) -> Any:
    """Return the engine's form of what a file held; refusals name the file."""
    try:
        return convert(value, file.name).value
    except LinealError as error:
        raise ReadError(
            f"{file}: {error.message}", hint=error.hint, operands=error.operands
        ) from error


def _line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
