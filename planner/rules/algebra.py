"""Local rules of the normal form: transposes, scalars, slices, and what loops carry for nothing."""

from __future__ import annotations

from typing import Any, cast

from lineal.planner.build import apply
from lineal.planner.expr import Expr, make
from lineal.planner.infer import COMMUTATIVE, ELEMENTWISE, typed
from lineal.planner.rules.protocol import Facts, Rule

_REORDERED = COMMUTATIVE - {"maximum", "minimum", "fmax", "fmin", "hypot", "logaddexp"}
"""Operations that give the same bits with their operands exchanged (signed zeros included)."""

_MIN_SCALE, _MAX_SCALE = 2.0**-20, 2.0**20
"""A known scalar moves only within these bounds, where it cannot make a product over- or underflow
that did not before by more than the bounds' share of the exponent range."""


def _const(node: Expr) -> Any:
    return node.attr("value") if node.op == "const" else None


def double_transpose(node: Expr, facts: Facts) -> Expr | None:
    """A.T.T -> A"""
    if node.op == "transpose" and node.inputs[0].op == "transpose":
        return node.inputs[0].inputs[0]
    return None


def transpose_of_product(node: Expr, facts: Facts) -> Expr | None:
    """(A @ B).T -> B.T @ A.T

    For two matrices of one dtype.  The product is left alone where something else needs it as it
    stands: then its transpose is a free view.
    """
    if node.op != "transpose" or node.inputs[0].op != "matmul":
        return None
    product = node.inputs[0]
    a, b = product.inputs
    if typed(a).ndim != 2 or typed(b).ndim != 2 or typed(a).dtype != typed(b).dtype:
        return None
    if typed(a).dtype.kind != "f":
        return None
    if facts.uses.get(product, 0) > 1:
        facts.refuse(
            "transpose_of_product", node, "B.T @ A.T",
            "the product itself is needed too; its transpose is a view",
            uses=facts.uses[product],
        )
        return None
    return apply("matmul", apply("transpose", b), apply("transpose", a))


def transpose_of_scaled(node: Expr, facts: Facts) -> Expr | None:
    """(s * A).T -> s * A.T

    For a scalar s; also (-A).T -> -A.T.  Only where A is itself a transpose or a product, so that
    the transposes meet; elsewhere the transposed result is a free view.
    """
    if node.op != "transpose":
        return None
    inner = node.inputs[0]
    if facts.uses.get(inner, 0) > 1:
        return None
    if inner.op == "negative" and inner.inputs[0].op in ("transpose", "matmul"):
        return apply("negative", apply("transpose", inner.inputs[0]))
    if inner.op != "multiply":
        return None
    a, b = inner.inputs
    if not typed(a).ndim and typed(b).ndim == 2 and b.op in ("transpose", "matmul"):
        return apply("multiply", a, apply("transpose", b))
    if not typed(b).ndim and typed(a).ndim == 2 and a.op in ("transpose", "matmul"):
        return apply("multiply", apply("transpose", a), b)
    return None


def negation_out_of_product(node: Expr, facts: Facts) -> Expr | None:
    """(-A) @ B -> -(A @ B)

    A sign commutes with every rounding but that to zero: entries that cancel are +0 on the left and
    -0 on the right.  Floats only, since negating the smallest integer wraps; only where the run
    computes no more entries of the result than of what was negated.
    """
    if node.op != "matmul" or typed(node).dtype.kind != "f":
        return None
    for k, side in enumerate(node.inputs):
        if side.op == "negative" and _entries(node, facts) <= _entries(side, facts):
            parts = list(node.inputs)
            parts[k] = side.inputs[0]
            if typed(parts[0]).dtype == typed(parts[1]).dtype:
                return apply("negative", apply("matmul", *parts))
    return None


def _entries(node: Expr, facts: Facts) -> float:
    """Return how many entries of `node` are computed over the run."""
    return float(typed(node).size) * facts.runs(node)


def scalar_out_of_product(node: Expr, facts: Facts) -> Expr | None:
    """(s * A) @ B -> s * (A @ B)

    For a known scalar with 2**-20 <= |s| <= 2**20 in floats, where over the run the result has no
    more entries than the scaled operand (which a loop may leave constant).
    """
    if node.op != "matmul" or typed(node).dtype.kind != "f":
        return None
    for k, side in enumerate(node.inputs):
        if side.op != "multiply" or typed(side).dtype != typed(node).dtype:
            continue
        for s, a in (side.inputs, side.inputs[::-1]):
            value = _const(s)
            if value is None or typed(a).ndim == 0 or typed(a).dtype != typed(side).dtype:
                continue
            if not _MIN_SCALE <= abs(float(value)) <= _MAX_SCALE:
                facts.refuse(
                    "scalar_out_of_product", node, "s * (A @ B)",
                    "the scalar is outside 2**-20 .. 2**20, where moving it is safe",
                    scalar=float(value),
                )
                continue
            after, before = _entries(node, facts), _entries(side, facts)
            if after > before:
                facts.refuse(
                    "scalar_out_of_product",
                    node,
                    "s * (A @ B)",
                    "over the run, the product has more entries than the scaled operand",
                    entries_of_product=after,
                    entries_of_operand=before,
                )
                continue
            parts = list(node.inputs)
            parts[k] = a
            if typed(parts[0]).dtype == typed(parts[1]).dtype:
                return apply("multiply", s, apply("matmul", *parts))
    return None


def commutative_order(node: Expr, facts: Facts) -> Expr | None:
    """B + A -> A + B

    The operand that comes first in the program stands first, so that both spellings are one
    node.
    """
    if node.op not in _REORDERED or len(node.inputs) != 2:
        return None
    a, b = node.inputs
    rank = facts.order
    if rank.get(b, -1) < rank.get(a, -1) and b in rank and a in rank:
        swapped = make(node.op, (b, a), **dict(node.attrs))
        if swapped in rank:
            return swapped
    return None


def slice_of_transpose(node: Expr, facts: Facts) -> Expr | None:
    """A.T[i, j] -> A[j, i].T

    For slices and one integer; what is left of the transpose moves to the smaller result.
    """
    if node.op != "getitem" or node.inputs[0].op != "transpose":
        return None
    entries = _two_axes(node)
    if entries is None or facts.uses.get(node.inputs[0], 0) < 1:
        return None
    first, second = entries
    if first[0] == "array" or second[0] == "array":
        return None
    swapped = apply("getitem", node.inputs[0].inputs[0], *node.inputs[1:], spec=(second, first))
    return apply("transpose", swapped) if typed(swapped).ndim == 2 else swapped


def slice_of_product(node: Expr, facts: Facts) -> Expr | None:
    """(A @ B)[i, j] -> A[i, :] @ B[:, j]

    For integers and slices, where nothing else needs the whole product.
    """
    if node.op != "getitem" or node.inputs[0].op != "matmul":
        return None
    product = node.inputs[0]
    a, b = product.inputs
    if typed(a).ndim != 2 or typed(b).ndim != 2 or typed(product).dtype.kind != "f":
        return None
    entries = _two_axes(node)
    if entries is None or any(e[0] == "array" for e in entries):
        return None
    if facts.uses.get(product, 0) > 1:
        facts.refuse(
            "slice_of_product", node, "A[i, :] @ B[:, j]", "the whole product is needed too",
            uses=facts.uses[product],
        )
        return None
    whole = ("slice", None, None, None)
    left, right = _split(node, entries)
    rows = apply("getitem", a, *left[1], spec=(left[0], whole)) if entries[0] != whole else a
    columns = apply("getitem", b, *right[1], spec=(whole, right[0])) if entries[1] != whole else b
    return apply("matmul", rows, columns)


def slice_of_elementwise(node: Expr, facts: Facts) -> Expr | None:
    """f(A, B)[i] -> f(A[i], B[i])

    For elementwise f without temporaries of other uses; operands that broadcast along a sliced
    axis keep their single entry.
    """
    if node.op != "getitem" or node.inputs[0].op not in ELEMENTWISE:
        return None
    inner = node.inputs[0]
    if facts.uses.get(inner, 0) > 1:
        return None
    shape = typed(inner).shape
    spec = cast("tuple[tuple[Any, ...], ...]", node.attr("spec"))
    if not typed(inner).static:
        return None  # an operand may hold one entry along an axis that only the run knows
    # Slices only: an integer may leave a scalar, which promotes by other rules than its array.
    if not shape or any(e[0] != "slice" for e in spec):
        return None
    parts: list[Expr] = []
    for operand in inner.inputs:
        type_ = typed(operand)
        if type_.ndim == 0:
            parts.append(operand)
            continue
        own: list[tuple[Any, ...]] = []
        offset = len(shape) - type_.ndim
        for axis, entry in enumerate(spec):
            if axis < offset:
                continue
            at = axis - offset
            broadcast_here = type_.shape[at] == 1 and shape[axis] != 1
            own.append(("slice", None, None, None) if broadcast_here else entry)
        if all(e == ("slice", None, None, None) for e in own):
            parts.append(operand)
        else:
            parts.append(apply("getitem", operand, spec=tuple(own)))
    return apply(inner.op, *parts, **dict(inner.attrs))


def _two_axes(node: Expr) -> list[tuple[Any, ...]] | None:
    """Return the two entries of a plain index into a matrix, None for any other index."""
    spec = list(cast("tuple[tuple[Any, ...], ...]", node.attr("spec")))
    if any(entry[0] == "new" for entry in spec) or not 1 <= len(spec) <= 2:
        return None
    if any(typed(v).dtype.kind == "b" for v in node.inputs[1:]):
        return None
    while len(spec) < 2:
        spec.append(("slice", None, None, None))
    return spec


def _split(
    node: Expr, entries: list[tuple[Any, ...]]
) -> list[tuple[tuple[Any, ...], list[Expr]]]:
    values = node.inputs[1:]
    found: list[tuple[tuple[Any, ...], list[Expr]]] = []
    for entry in entries:
        if entry[0] == "int":
            found.append((("int", 0), [values[entry[1]]]))
        else:
            found.append((entry, []))
    return found


EXACT: tuple[Rule, ...] = (
    Rule(double_transpose, "exact"),
    Rule(transpose_of_scaled, "exact"),
    Rule(slice_of_transpose, "exact"),
    Rule(slice_of_elementwise, "exact"),
    # After the others: they decide which spellings there are.
    Rule(commutative_order, "exact"),
)
REAL: tuple[Rule, ...] = (
    Rule(transpose_of_product, "real"),
    Rule(negation_out_of_product, "real"),
    Rule(scalar_out_of_product, "real"),
    Rule(slice_of_product, "real"),
)
NORMAL_FORM: tuple[Rule, ...] = (*REAL, *EXACT)
"""The rules of the `normalised` stage, in the order in which they are tried at each node."""
