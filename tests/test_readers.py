"""Readers: every format's corners, and damaged files of every kind."""

from __future__ import annotations

import gc
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
import scipy.io
import scipy.sparse as sp

from lineal.engine.inputs import describe
from lineal.engine.readers import read
from lineal.errors import InputError, OptionError, ReadError


def _open_files(folder: Path) -> list[str]:
    gc.collect()
    paths = [file.path for file in psutil.Process().open_files()]
    return [path for path in paths if path.startswith(str(folder))]


# -- .npy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f4", "f8", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_is_mapped_read_only(tmp_path: Path, dtype: str, order: str) -> None:
    A = np.asarray(np.arange(12).reshape(3, 4) % 2, dtype=dtype, order=order)
    np.save(tmp_path / "A.npy", A)
    got = read(tmp_path / "A.npy")
    assert isinstance(got, np.memmap)
    assert not got.flags.writeable
    assert got.dtype == A.dtype
    np.testing.assert_array_equal(got, A)
    np.testing.assert_array_equal(describe(got, "A").value, A)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,)])
def test_npy_of_odd_shapes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "A.npy", np.ones(shape))
    got = read(str(tmp_path / "A.npy"))
    assert got.shape == shape
    np.testing.assert_array_equal(got, np.ones(shape))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_header_versions(tmp_path: Path, version: tuple[int, int]) -> None:
    with (tmp_path / "A.npy").open("wb") as stream:
        np.lib.format.write_array(stream, np.arange(5.0), version=version)
    np.testing.assert_array_equal(read(tmp_path / "A.npy"), np.arange(5.0))


# -- .npz ------------------------------------------------------------------------------------------


def test_npz_of_one_array(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "A.npz", X=np.eye(3))
    np.testing.assert_array_equal(read(tmp_path / "A.npz"), np.eye(3))


def test_npz_of_several_needs_a_key(tmp_path: Path) -> None:
    np.savez(tmp_path / "A.npz", X=np.eye(3), y=np.ones(2))
    np.testing.assert_array_equal(read(tmp_path / "A.npz", key="y"), np.ones(2))
    with pytest.raises(ReadError, match="2 arrays") as caught:
        read(tmp_path / "A.npz")
    assert "X, y" in caught.value.hint
    with pytest.raises(ReadError, match="no array 'z'"):
        read(tmp_path / "A.npz", key="z")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("family", ["array", "matrix"])
def test_npz_of_scipy(tmp_path: Path, form: str, family: str) -> None:
    D = np.diag([1.0, 2.0, 3.0])
    D[0, 2] = 5
    sp.save_npz(tmp_path / "S.npz", getattr(sp, f"{form}_{family}")(D))
    got = read(tmp_path / "S.npz")
    assert type(got) is sp.csr_array
    np.testing.assert_array_equal(got.toarray(), D)


# -- .mtx ------------------------------------------------------------------------------------------


def _mtx(tmp_path: Path, text: str) -> Path:
    (tmp_path / "M.mtx").write_text(text)
    return tmp_path / "M.mtx"


def test_pains_j1_dense_skew_symmetric(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix array real skew-symmetric\n3 3\n"
    got = read(_mtx(tmp_path, head + "1.0\n2.0\n3.0\n"))
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, [[0, -1, -2], [1, 0, -3], [2, 3, 0]])
    np.testing.assert_array_equal(got, -got.T)


def test_sparse_skew_symmetric(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n"
    got = read(_mtx(tmp_path, head + "2 1 5\n3 2 7\n"))
    np.testing.assert_array_equal(got.toarray(), [[0, -5, 0], [5, 0, -7], [0, 7, 0]])


def test_pains_j2_pattern(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix coordinate pattern general\n% remark\n3 4 3\n"
    got = read(_mtx(tmp_path, head + "1 1\n2 4\n3 2\n"))
    assert type(got) is sp.csr_array
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got.toarray(), [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]])


def test_pains_j2_symmetric_from_the_lower_half(tmp_path: Path) -> None:
    entries = [(i, j) for i in range(1, 5) for j in range(1, i + 1)]
    assert len(entries) == 10
    lines = "".join(f"{i} {j} {i * 10 + j}\n" for i, j in entries)
    head = "%%MatrixMarket matrix coordinate real symmetric\n4 4 10\n"
    got = read(_mtx(tmp_path, head + lines))
    assert got.nnz == 16
    expected = [[max(i, j) * 10 + min(i, j) for j in range(1, 5)] for i in range(1, 5)]
    np.testing.assert_array_equal(got.toarray(), expected)


def test_pains_j2_symmetric_dense(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix array integer symmetric\n2 2\n"
    got = read(_mtx(tmp_path, head + "1\n2\n3\n"))
    np.testing.assert_array_equal(got, [[1, 2], [2, 3]])
    assert got.dtype == np.int64


def test_pains_j2_symmetric_pattern(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n"
    got = read(_mtx(tmp_path, head + "1 1\n2 1\n"))
    np.testing.assert_array_equal(got.toarray(), [[1, 1], [1, 0]])


def test_mtx_duplicates_are_summed(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix coordinate real general\n2 2 2\n"
    got = read(_mtx(tmp_path, head + "1 1 1\n1 1 2\n"))
    assert got.nnz == 1
    assert got[0, 0] == 3


def test_mtx_round_trip_and_compressed(tmp_path: Path) -> None:
    S = sp.random_array((20, 30), density=0.1, rng=0)
    scipy.io.mmwrite(tmp_path / "S.mtx", S, precision=17)
    np.testing.assert_array_equal(read(tmp_path / "S.mtx").toarray(), S.toarray())
    (tmp_path / "S.mtx.gz").write_bytes(gzip.compress((tmp_path / "S.mtx").read_bytes()))
    np.testing.assert_array_equal(read(tmp_path / "S.mtx.gz").toarray(), S.toarray())
    assert read(_mtx(tmp_path, "%%MatrixMarket matrix coordinate real general\n2 2 0\n")).nnz == 0


# -- damage ----------------------------------------------------------------------------------------


def _cut(data: bytes) -> bytes:
    return data[:-10]


_REAL = "%%MatrixMarket matrix coordinate real general\n"
_BAD_MTX = {
    "empty": ("", "Matrix Market"),
    "no banner": ("1 2 3\n", "Matrix Market"),
    "cut short": (_REAL + "2 2 2\n1 1 5\n", "cut short after line 3"),
    "too long": (_REAL + "2 2 1\n1 1 5\n2 2 5\n", "Line"),
    "outside": (_REAL + "2 2 1\n3 1 5\n", "Line 3"),
    "zero index": (_REAL + "2 2 1\n0 1 5\n", "Line 3"),
    "words": (_REAL + "2 2 1\n1 1 five\n", "Line 3"),
    "no sizes": (_REAL, "Matrix Market"),
    "unknown field": (_REAL.replace("real", "quaternion") + "1 1 1\n1 1 1\n", "quaternion"),
    "complex": (_REAL.replace("real", "complex") + "1 1 1\n1 1 1 2\n", "complex"),
    "dense cut short": (
        "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
        "cut short after line 5",
    ),
}


@pytest.mark.parametrize("name", _BAD_MTX)
def test_damaged_mtx(tmp_path: Path, name: str) -> None:
    text, said = _BAD_MTX[name]
    file = _mtx(tmp_path, text)
    with pytest.raises(ReadError) as caught:
        read(file)
    assert str(file) in str(caught.value)
    assert said in str(caught.value)
    assert not _open_files(tmp_path)


def _write_object(file: Path) -> None:
    np.save(file, np.array([1, "a", None], dtype=object), allow_pickle=True)


def _write_cut_npy(file: Path) -> None:
    np.save(file, np.ones(100))
    file.write_bytes(_cut(file.read_bytes()))


def _write_cut_header(file: Path) -> None:
    np.save(file, np.ones(100))
    file.write_bytes(file.read_bytes()[:40])


def _write_cut_npz(file: Path) -> None:
    np.savez(file, X=np.ones(100))
    file.write_bytes(file.read_bytes()[:-60])


def _write_flipped_npz(file: Path) -> None:
    np.savez_compressed(file, X=np.arange(1000.0))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(bytes(data))


def _write_bad_sparse(file: Path) -> None:
    np.savez(
        file,
        format=b"csr",
        shape=np.array([2, 2]),
        data=np.ones(2),
        indices=np.array([0, 7]),
        indptr=np.array([0, 1, 2]),
    )


def _write_no_sparse_data(file: Path) -> None:
    np.savez(file, format=b"csr", shape=np.array([2, 2]))


@pytest.mark.parametrize(
    ("name", "write", "said"),
    [
        ("A.npy", lambda f: f.write_bytes(b""), "not a .npy file"),
        ("A.npy", lambda f: f.write_bytes(b"\x93NUM"), "offset 0"),
        ("A.npy", lambda f: f.write_bytes(b"PK\x03\x04aaaaaaa"), "offset 0"),
        ("A.npy", _write_cut_npy, "cut short"),
        ("A.npy", _write_cut_header, "damaged header"),
        ("A.npy", _write_object, "never unpickled"),
        ("A.npz", lambda f: f.write_bytes(b"nonsense"), "not an .npz"),
        ("A.npz", lambda f: f.write_bytes(b""), "not an .npz"),
        ("A.npz", _write_cut_npz, "cut short"),
        ("A.npz", _write_flipped_npz, "damaged"),
        ("A.mtx.gz", lambda f: f.write_bytes(b"nonsense"), "gzip"),
        ("A.mtx.gz", lambda f: f.write_bytes(gzip.compress(b"%%Matrix")[:-6]), "Compressed"),
        ("A.npz", _write_bad_sparse, "A.npz"),
        ("A.npz", _write_no_sparse_data, "damaged"),
        ("A.csv", lambda f: f.write_text("1,2"), "no reader"),
        ("A", lambda f: f.write_text("1,2"), "no reader"),
        ("A.npy", lambda f: f.mkdir(), "folder"),
        ("A.npy", lambda f: None, "no such file"),
        ("A.npz", lambda f: None, "no such file"),
        ("A.mtx", lambda f: None, "no such file"),
    ],
)
def test_damaged_files(
    tmp_path: Path, name: str, write: Callable[[Path], object], said: str
) -> None:
    file = tmp_path / name
    write(file)
    with pytest.raises(ReadError) as caught:
        read(file)
    assert str(file) in str(caught.value)
    assert said in str(caught.value)
    assert not _open_files(tmp_path)
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, OSError)


def test_object_array_inside_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "A.npz", X=np.array([1, None], dtype=object))
    with pytest.raises(ReadError, match="damaged or not numeric"):
        read(tmp_path / "A.npz")


def test_key_is_for_npz(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no keys"):
        read(tmp_path / "A.npy", key="X")


def test_no_file_is_left_open(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", np.ones(3))
    np.savez(tmp_path / "B.npz", X=np.ones(3))
    sp.save_npz(tmp_path / "C.npz", sp.csr_array(np.eye(2)))
    scipy.io.mmwrite(tmp_path / "D.mtx", np.eye(2))
    for name in ("B.npz", "C.npz", "D.mtx"):
        kept = read(tmp_path / name)
        assert kept is not None
        assert not _open_files(tmp_path)
    mapped = read(tmp_path / "A.npy")
    assert mapped[0] == 1
    del mapped  # a map holds its file as long as it lives, and no longer
    assert not _open_files(tmp_path)
