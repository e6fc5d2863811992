"""What the generator writes: expressions by kind, and helper functions to inline."""

from __future__ import annotations

UNARY = ("np.abs({0})", "-{0}", "np.sqrt(np.abs({0}))", "np.tanh({0})", "np.exp(-np.abs({0}))",
         "np.sign({0})", "np.square({0})", "np.floor({0})", "np.isnan({0})",
         "np.log1p(np.abs({0}))",
         "{0} ** 2", "{0}.astype(float)", "{0}.copy()", "np.logical_not({0})", "{0} > 0",
         "2 * {0}", "{0} / 3.0", "{0} + 1", "np.where({0} > 0, {0}, 0)", "np.clip({0}, -1, 1)",
         "np.maximum({0}, 0)", "np.ones_like({0})", "np.round({0}, 1)", "({0} > 0) & ({0} < 2)",
         "{0} * {0} * {0}", "np.minimum(3, {0})", "np.where({0} != 0, 1.0 / {0}, 0.0)",
         "{0}.astype(np.float32)", "{0}.astype(np.int8)", "{0} - {0}", "0 * {0}",
         "np.zeros_like({0})", "1 - {0}", "{0} / {0}.shape[0]", "np.full_like({0}, 2)",
         "({0} + 1) * 2 - {0}")  # fmt: skip
BINARY = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "np.maximum({0}, {1})",
          "np.minimum({0}, {1})", "{0} < {1}", "{0} == {1}", "np.where({0} > {1}, {0}, {1})",
          "np.logaddexp({0}, {1})", "np.logical_and({0}, {1})", "{0} // {1}", "{1} + {0}",
          "np.hypot({0}, {1})", "{0} % {1}", "{0} * {1} + {0}", "({0} - {1}) * ({0} + {1})",
          "{0} + {1} - {1}", "2 * {0} + {1} * 3", "({0} > 0) | ({1} > 0)",
          "np.where({0} > 0, {1}, 0)")  # fmt: skip
REDUCTIONS = ("{0}.sum()", "{0}.mean()", "np.max({0})", "{0}.min()", "np.any({0})", "{0}.all()",
              "np.var({0})", "{0}.std()", "np.prod({0})", "np.linalg.norm({0})",
              "np.count_nonzero({0})", "np.argmax({0})", "{0}.argmin()", "float({0}.sum())",
              "int(np.clip({0}.sum(), -9, 9))", "bool({0}.any())", "np.sum({0}, dtype=np.float64)",
              "({0} * {0}).sum()", "{0}.sum() / max({0}.size, 1)", "len({0})", "{0}.size",
              "{0}.ndim", "{0}.shape[0]")  # fmt: skip
AXIS = ("{0}.sum(axis={1})", "{0}.mean(axis={1}, keepdims=True)", "np.max({0}, axis={1})",
        "{0}.var(axis={1})", "np.cumsum({0}, axis={1})", "np.sort({0}, axis={1})",
        "{0}.argmax(axis={1})", "np.any({0}, axis={1}, keepdims=True)", "np.diff({0}, axis={1})",
        "np.argsort({0}, axis={1}, kind='stable')", "np.linalg.norm({0}, axis={1})",
        "{0} - {0}.mean(axis={1}, keepdims=True)", "{0}.sum(axis={1}, keepdims=True) * {0}",
        "np.prod({0}, axis={1})", "{0}.all(axis={1})", "np.min({0}, axis={1}, keepdims=True)",
        "np.std({0}, axis={1}, ddof=1)", "np.count_nonzero({0}, axis={1})")  # fmt: skip
MATRIX = ("{0}.T", "{0}[:, 0]", "{0}[0]", "{0}[::-1]", "{0}[:, None, 0]", "{0}.ravel()",
          "{0}[1:, :-1]", "np.tril({0})", "np.trace({0})", "np.diag({0})", "{0}.T @ {0}",
          "{0} @ {0}.T", "({0} @ {0}.T)[0]", "{0}.T.T", "({0} + {0}).T", "np.triu({0}, 1)",
          "{0}[{0}[:, 0] > 0]", "np.vstack([{0}, {0}])", "np.hstack([{0}, {0}])",
          "{0}.reshape(-1)", "{0}[[0, -1]]", "(-{0}).T @ {0}", "(2 * {0}).T @ {0}",
          "np.einsum('ij,ij->i', {0}, {0})", "np.einsum('ij->ji', {0})", "{0}.shape",
          "({0}.T @ {0}).sum()", "np.trace({0}.T @ {0})", "({0}.T @ {0})[0, 0]",
          "({0} @ {0}.T @ {0})[:, 0]", "np.sum({0}, axis=(0, 1))", "{0}.T[0] @ {0}",
          "np.diag({0} @ {0}.T)", "({0}.T)[::-1].T", "{0}[:, [0, 0]]",
          "np.max({0}, axis=(0, 1), keepdims=True)", "{0}.T.reshape(-1)",
          "({0}.T @ ({0} * 2)).T", "(3 * ({0}.T @ {0}) @ {0}.T)[0]")  # fmt: skip
VECTOR = ("{0}[:, None]", "{0}[None, :]", "{0}[0]", "{0}[1:]", "{0} @ {0}", "np.outer({0}, {0})",
          "np.diag({0})", "{0}[{0} > 0]", "np.concatenate([{0}, {0}])", "{0}.reshape(-1, 1)",
          "{0}[::2]", "np.unique({0})", "{0}[-1]", "np.cumsum({0})", "np.outer({0}, {0}) @ {0}",
          "{0}[::-1][1:]", "{0} - {0}[0]", "np.array([{0}[0], {0}[-1]])", "np.stack([{0}, {0}])",
          "{0}[{0} > 0].sum()", "({0}[:, None] * {0}).sum(axis=1)",
          "np.diag({0}) @ {0}")  # fmt: skip
PAIR = ("{0} @ {1}", "{0}.T @ {1}", "{0} @ {1}.T", "{0}.T @ {1} @ {1}.T", "np.dot({0}, {1})",
        "np.concatenate([{0}, {1}])", "np.outer({0}, {1})", "({0} @ {1}).T", "{0} @ {1} @ {1}",
        "{0}.T @ ({0} @ {1})", "({0} + {1}).sum()", "{0}.T @ {0} @ {1}", "({0} @ {1}) * 2",
        "{0} @ (2 * {1})", "({0} - {1}) @ {1}.T", "({0} @ {1})[0]", "({0} @ {1}).sum(axis=0)",
        "np.trace({0} @ {1})", "{0} @ {1} + {0} @ {1}", "({0} * {1}).sum()",
        "np.vdot({0}, {1})", "np.inner({0}, {1})", "{1}.T @ {0}.T",
        "np.where({0}[:1] > 0, {1}, 0)", "{0}[{1} > 0]")  # fmt: skip
INDEXING = ("{0}[int(np.clip({1}, 0, 0))]", "{0}[min({0}.shape[0] - 1, 1)]",
            "{0}[np.array([0, -1, 0])]", "{0}[np.argsort({0}, axis=0)[0]]",
            "{0}[np.abs({0}).argmax() % {0}.shape[0]]", "{0}[..., 0]", "{0}[None]",
            "{0}[np.arange({0}.shape[0])[::-1]]", "{0}[:2][::-1]", "{0}[:-1] + {0}[1:]",
            "{0}[-2:]", "{0}[[True] * 2]", "{0}[{0}.shape[0] // 2:]")  # fmt: skip
SCALAR = ("{0} + {1}", "{0} * 2", "{0} - 0.5", "{0} > {1}", "max({0}, 1)", "min({0}, {1})",
          "{0} / 3", "{0} // 2", "{0} % 3", "{0} ** 2", "abs({0})", "float({0})", "-{0}",
          "{0} > 0 and {1} > 0", "{0} > 0 or {1}", "not {0}", "1 if {0} > 0 else 2",
          "0 < {0} < 3", "np.sqrt(abs({0}))", "np.float32({0})", "np.maximum({0}, {1})",
          "{0} + True", "bool({0})")  # fmt: skip
# {0} is a finite matrix of floats: {0} @ {0}.T + I is well conditioned enough.
_SPD = "({0} @ {0}.T + np.eye({0}.shape[0]))"
LINALG = (f"np.linalg.solve({_SPD}, {{0}})", f"np.linalg.inv({_SPD})",
          f"np.linalg.cholesky({_SPD})", f"np.linalg.solve({_SPD}, {{0}}[:, 0])",
          f"np.linalg.inv({_SPD}) @ {{0}}", f"np.linalg.det({_SPD})",
          f"np.linalg.eigvalsh({_SPD})", f"np.linalg.slogdet({_SPD})[1]",
          "np.linalg.svd({0}, compute_uv=False)", "np.linalg.pinv({0} * 0.5)",
          f"{{0}}.T @ np.linalg.inv({_SPD}) @ {{0}}",
          f"np.linalg.lstsq({_SPD}, {{0}}, rcond=None)[0]",
          "np.linalg.norm({0}, 2)", "np.linalg.norm({0}, 'fro')")  # fmt: skip

HELPERS = {
    "halve": "def halve(v, k):\n    return v / 2 + k\n",
    "centre": "def centre(v, k=0):\n    return v - v.mean(axis=0)\n",
    "twice": "def twice(v, k):\n    w = v * k\n    for _ in range(2):\n        w = w + v\n"
             "    return w\n",
    "same": "def same(v, k):\n    return v\n",
    "signed": "def signed(v, k):\n    if v.sum() > 0:\n        return v\n    return v + v\n",
    "gram": "def gram(v, k):\n    return v.T @ v\n",
    "first": "def first(v, k):\n    return v[0]\n",
}
