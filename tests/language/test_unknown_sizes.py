"""Law 6: operations on arrays whose size only the run knows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import lineal as la
from lineal.errors import StaticValueError

from .harness import assert_same
from .test_size import made

x = np.arange(5.0)
A = np.arange(12.0).reshape(4, 3)

SUPPORTED = [
    "v.reshape(v.shape[0],1)",
    "v.reshape(-1,1)",
    "np.zeros_like(v)",
    "np.full_like(v,2)",
    "np.outer(v,v)",
    "np.diag(v)",
    "np.concatenate([v,x])",
    "v[:, None]",
    "v[::-1]",
    "v[1:]",
    "v[0]",
    "np.cumsum(v)",
    "np.sort(v)",
    "np.argsort(v)",
    "np.diff(v)",
    "np.unique(v)",
    "np.vstack([v,v])",
    "np.hstack([v,x])",
    "np.stack([v,v])",
    "v @ v",
    "v.mean()",
    "v.var()",
    "v.size",
    "v.shape[0]*2",
    "len(v)",
    "np.where(v>2,v,0)",
    "B.T @ B",
    "B @ B.T",
    "np.linalg.solve(B.T@B+np.eye(3), B.T@v2)",
    "B.sum(axis=0)",
    "B.sum(axis=1)",
    "B - B.mean(axis=0)",
    "B[0]",
    "B[:, 0]",
    "B[1:]",
    "np.tril(B)",
    "np.trace(B.T@B)",
    "np.linalg.svd(B, compute_uv=False)",
    "np.linalg.qr(B)[1]",
    "np.linalg.lstsq(B, v2, rcond=None)[0]",
    "np.linalg.norm(B)",
    "np.linalg.norm(B,axis=1)",
    "B.ravel()",
    "B.reshape(-1)",
    "B.T",
    "np.linalg.inv(B@B.T*0+1.0*np.diag(v2))",
    "np.column_stack([v2,v2])",
    "B[v2>2]",
    "B[np.argsort(v2)]",
    "np.bincount(v.astype(int))",
    "np.bincount(v.astype(int)) + 1",
    "np.bincount(v.astype(int))[1]",
    "np.squeeze(B)",
    "np.expand_dims(v,0)",
    "np.einsum('i,i->',v,v)",
    "np.einsum('ij,ik->jk',B,B)",
    "np.linalg.pinv(B)",
    "np.copy(B)",
    "B.astype(int)",
    "np.inner(v,v)",
    "np.vdot(B,B)",
    "B.argmax(axis=1)",
    "np.max(B, axis=0)",
    "np.count_nonzero(B)",
    "np.linalg.eigvalsh(B@B.T)",
    "B[B[:,0]>3][:1].sum()",
    "B * v2[:, None]",
    "S[S[:,0]>0] * 2",
    "S[S[:,0]>0] @ np.ones(3)",
    "S[S[:,0]>0] + S[S[:,0]>0]",
    "S[S[:,0]>0].T @ S[S[:,0]>0]",
    "S[S[:,0]>0] + np.ones(3)",
    "S[S[:,0]>0] * v2[:1]",
    "S[S[:,0]>=0] + S",
]
REFUSED = [
    "np.arange(v.shape[0])",
    "np.eye(v.shape[0])",
    "np.ones(v.shape)",
    "np.linspace(0,1,v.shape[0])",
    "np.broadcast_to(x[:1], v.shape)",
    "np.broadcast_to(v, (2, v.shape[0]))",
]


def _function(expression):
    body = f"""
    v = x[x > 0]
    B = A[A[:, 0] > 0]
    v2 = B[:, 1]
    return {expression}"""
    return made(body, "sized", "x, A, S")


@pytest.mark.parametrize("expression", SUPPORTED)
@pytest.mark.parametrize("shift", [0.0, -20.0, 20.0], ids=["some", "none", "all"])
def test_supported(expression, shift):
    """Some rows kept, none, all: one plan for the three, or NumPy's own error."""
    function = _function(expression)
    program = la.program(function)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        plan = program.plan(x, A, sp.csr_array(A))
        assert program.plan(x + shift, A + shift, sp.csr_array(A + 1)) is not None
        try:
            expected = function(x + shift, A + shift, A + shift)
        except (ValueError, IndexError, np.linalg.LinAlgError):
            with pytest.raises((ValueError, IndexError, np.linalg.LinAlgError)):
                program(x + shift, A + shift, sp.csr_array(A + shift))
            return
        assert_same(program(x + shift, A + shift, sp.csr_array(A + shift)), expected)
    assert program.plan(x, A, sp.csr_array(A)) is plan


@pytest.mark.parametrize("expression", REFUSED)
def test_refused(expression):
    with pytest.raises(StaticValueError) as caught:
        la.program(_function(expression))(x, A, sp.csr_array(A))
    assert caught.value.span is not None
    assert "Try: " in str(caught.value)
