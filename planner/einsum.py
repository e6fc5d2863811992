"""einsum in terms of matmul, multiply and sum where it has such a form.

What has none (three and more distinct axes without a single contraction) stays one `einsum` node.
"""

from __future__ import annotations

from lineal.errors import ShapeError, UnsupportedError
from lineal.planner.build import apply
from lineal.planner.expr import Expr, make
from lineal.planner.infer import type_of, typed


def lower_einsum(text: str, operands: list[Expr]) -> Expr:
    """Return the node for np.einsum(text, *operands)."""
    labels, out = _parse(text, operands)
    subscripts = f"{','.join(labels)}->{out}"
    whole = make("einsum", operands, subscripts=subscripts)
    type_of(whole)  # checks sizes
    if any(typed(x).dtype.kind == "b" for x in operands):
        return whole
    if any(len(set(ls)) != len(ls) for ls in labels):
        return whole
    names, value = labels[0], operands[0]
    for i in range(1, len(operands)):
        needed = set(out).union(*labels[i + 1 :])
        kept = "".join(dict.fromkeys(c for c in names + labels[i] if c in needed))
        target = out if i == len(operands) - 1 else kept
        paired = _pair(value, names, operands[i], labels[i], target)
        if paired is None:
            return whole
        value, names = paired, target
    if len(operands) == 1:
        value = _single(value, names, out)
    return value if typed(value).dtype == typed(whole).dtype else whole


def _parse(text: str, operands: list[Expr]) -> tuple[list[str], str]:
    text = text.replace(" ", "")
    if "." in text:
        raise UnsupportedError("einsum with an ellipsis", hint="name every axis")
    left, arrow, out = text.partition("->")
    labels = left.split(",")
    if len(labels) != len(operands):
        raise ShapeError(
            f"einsum {text!r} names {len(labels)} operands, {len(operands)} given",
            hint="write one comma-separated group per operand",
        )
    if not all(c.isalpha() for c in left.replace(",", "") + out):
        raise ShapeError(f"einsum {text!r}: subscripts must be letters", hint="'ij,jk->ik'")
    if not arrow:
        joined = "".join(labels)
        out = "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    if len(set(out)) != len(out) or not set(out) <= set(left):
        raise ShapeError(
            f"einsum {text!r}: the output names an axis twice or one that is not there",
            hint="name each output axis once, from the operands' letters",
        )
    return labels, out


def _single(x: Expr, labels: str, out: str) -> Expr:
    gone = tuple(i for i, c in enumerate(labels) if c not in out)
    kept = "".join(c for c in labels if c in out)
    value = x
    if gone:
        dtype = typed(x).dtype.name
        value = apply("sum", x, axis=gone, keepdims=False, dtype=dtype)
    return value if kept == out else apply("transpose", value)


def _pair(a: Expr, la: str, b: Expr, lb: str, out: str) -> Expr | None:
    """Contract two operands; None where matmul, multiply and sum cannot say it in 2-D."""
    every = list(dict.fromkeys(la + lb))
    contracted = [c for c in every if c in la and c in lb and c not in out]
    batch = [c for c in every if c in la and c in lb and c in out]
    alone = [c for c in every if (c in la) != (c in lb) and c not in out]
    same = typed(a).dtype == typed(b).dtype
    if len(contracted) == 1 and not batch and not alone and same:
        c = contracted[0]
        left = apply("transpose", a) if len(la) == 2 and la[0] == c else a
        right = apply("transpose", b) if len(lb) == 2 and lb[1] == c else b
        kept = la.replace(c, "") + lb.replace(c, "")
        value = apply("matmul", left, right)
        return value if kept == out else apply("transpose", value)
    if len(every) > 2 or not same:
        return None
    value = apply("multiply", _spread(a, la, every), _spread(b, lb, every))
    gone = tuple(i for i, c in enumerate(every) if c not in out)
    kept = "".join(c for c in every if c in out)
    if gone:
        # einsum adds in the operands' own dtype; np.sum would widen small integers.
        value = apply("sum", value, axis=gone, keepdims=False, dtype=typed(value).dtype.name)
    return value if kept == out else apply("transpose", value)


def _spread(x: Expr, labels: str, every: list[str]) -> Expr:
    """Lay the axes of `x` out along `every`, with size 1 where it has none."""
    if len(labels) == 2 and list(labels) != every:
        return apply("transpose", x)
    if len(labels) == len(every) or not labels:
        return x
    shape = tuple(typed(x).shape[0] if c == labels else 1 for c in every)
    return apply("reshape", x, shape=shape)
