"""Which blocks an operator's results have, given those of its operands.

The same rules as the engine's lowerings follow; sizes that only the run knows count with their
upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lineal.planner.layouts import ELEMENTWISE, REDUCTIONS, Split, even, intersect, sliced
from lineal.planner.types import Type, upper

Splits = tuple[Split, ...]
Attrs = Mapping[str, object]


def whole(kind: Type) -> Splits:
    """Return the splits of a value in one block."""
    return tuple((upper(dim),) for dim in kind.shape)


def result_splits(
    op: str,
    attrs: Attrs,
    types: Sequence[Type],
    splits: Sequence[Splits | None],
    outputs: Sequence[Type],
) -> tuple[Splits, ...]:
    """Return the splits of every result of `op`; None stands for an operand in the driver."""
    first = splits[0] if splits and splits[0] is not None else whole(types[0]) if types else ()
    if op in ELEMENTWISE:
        return (spanning(outputs[0], types, splits),)
    if op in REDUCTIONS:
        return (_reduced(attrs, first),)
    if op in ("qr", "svd", "lstsq"):
        rows = tuple(n for n in first[0] if n) or (0,)
        return tuple(
            (rows, (upper(kind.shape[1]),))
            if i == 0 and op != "lstsq" and kind.ndim == 2 and len(outputs) > 1
            else whole(kind)
            for i, kind in enumerate(outputs)
        )
    rule = _RULES.get(op)
    found = rule(attrs, types, splits, outputs[0]) if rule is not None else whole(outputs[0])
    return (found,)


def spanning(out: Type, types: Sequence[Type], splits: Sequence[Splits | None]) -> Splits:
    """Return every boundary that a blocked operand puts on an axis of the broadcast result."""
    result: list[Split] = []
    for axis, dim in enumerate(out.shape):
        found = []
        for kind, cut in zip(types, splits, strict=True):
            own = axis - (out.ndim - kind.ndim)
            if cut is not None and own >= 0 and kind.shape[own] == dim and dim != 1:
                found.append(cut[own])
        if found and all(sum(split) == sum(found[0]) for split in found):
            result.append(intersect(*found))
        else:
            result.append(found[0] if found else (upper(dim),))
    return tuple(result)


def _reduced(attrs: Attrs, first: Splits) -> Splits:
    axis = attrs.get("axis")
    ndim = len(first)
    if axis is None:
        axes: tuple[int, ...] = tuple(range(ndim))
    else:
        axes = axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(a % ndim for a in axes)
    if attrs.get("keepdims"):
        return tuple((1,) if i in axes else split for i, split in enumerate(first))
    return tuple(split for i, split in enumerate(first) if i not in axes)


_Rule = Callable[[Attrs, Sequence[Type], Sequence[Splits | None], Type], Splits]


def _of(types: Sequence[Type], splits: Sequence[Splits | None], i: int) -> Splits:
    found = splits[i]
    return whole(types[i]) if found is None else found


def _matmul(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    left, right = _of(types, splits, 0), _of(types, splits, 1)
    return left[:-1] + right[1:]


def _outer(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    return (_of(types, splits, 0)[0], _of(types, splits, 1)[0])


def _same(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    return _of(types, splits, 0)


def _transpose(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    return _of(types, splits, 0)[::-1]


def _reshape(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    first = _of(types, splits, 0)
    if [d for d in out.shape if d != 1] == [d for d in types[0].shape if d != 1]:
        long = [cut for cut, d in zip(first, types[0].shape, strict=True) if d != 1]
        return tuple((1,) if d == 1 else long.pop(0) for d in out.shape)
    flat = first[0]
    if len(first) == 2:
        width = sum(first[1])
        flat = tuple(n * width for n in first[0])
    if out.ndim == 1:
        return (flat,)
    width = upper(out.shape[1])
    return (even(upper(out.shape[0]), max(1, max(flat) // max(width, 1))), (width,))


def _broadcast_to(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    return spanning(out, types, splits)


def _concatenate(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    cuts = [_of(types, splits, i) for i in range(len(types))]
    axis = attrs.get("axis", 0)
    if axis is None:
        return ((upper(out.shape[0]),),)
    at = int(axis) % out.ndim  # type: ignore[call-overload]
    result: list[Split] = []
    for i in range(out.ndim):
        if i == at:
            result.append(tuple(n for cut in cuts for n in cut[i]))
        else:
            found = [cut[i] for cut, given in zip(cuts, splits, strict=True) if given is not None]
            result.append(intersect(*found) if found else (upper(out.shape[i]),))
    return tuple(result)


def _diag(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    first = _of(types, splits, 0)
    k = int(attrs.get("k", 0))  # type: ignore[call-overload]
    if len(first) == 1:
        pad = (abs(k),) if k else ()
        low, high = first[0] + pad, pad + first[0]
        return (low, high) if k >= 0 else (high, low)
    return (even(upper(out.shape[0]), max(first[0])),)


def _diff(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    result = list(_of(types, splits, 0))
    axis = int(attrs.get("axis", -1)) % len(result)  # type: ignore[call-overload]
    for _ in range(int(attrs.get("n", 1))):  # type: ignore[call-overload]
        n = sum(result[axis])
        if n:
            result[axis] = intersect(
                sliced(result[axis], 1, n, 1), sliced(result[axis], 0, n - 1, 1)
            )
    return tuple(result)


def _scan(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    if attrs.get("axis") is None and types[0].ndim == 2:
        return _reshape({}, types, splits, out)
    return _of(types, splits, 0)


def _getitem(
    attrs: Attrs, types: Sequence[Type], splits: Sequence[Splits | None], out: Type
) -> Splits:
    first = _of(types, splits, 0)
    spec: tuple[tuple[object, ...], ...] = attrs["spec"]  # type: ignore[assignment]
    values = types[1:]
    arrays = [entry for entry in spec if entry[0] == "array"]
    if len(arrays) == 1 and values[int(arrays[0][1])].ndim == 2:  # type: ignore[call-overload]
        width = sum(first[1])
        return (tuple(n * width for n in first[0]),)
    if len(arrays) == 2:
        return (even(upper(out.shape[0]), max(1, *first[0])),)
    result: list[Split] = []
    axis = 0
    for entry in spec:
        if entry[0] == "new":
            result.append((1,))
            continue
        cut = first[axis]
        axis += 1
        if entry[0] == "slice":
            bounds: tuple[int | None, ...] = entry[1:]  # type: ignore[assignment]
            result.append(cut if bounds == (None, None, None) else sliced(cut, *bounds))
        elif entry[0] == "array":
            kind = values[int(entry[1])]  # type: ignore[call-overload]
            mask = kind.dtype.kind == "b"
            result.append(cut if mask else even(upper(kind.shape[0]), max(1, *cut)))
    return (*result, *first[axis:])


_RULES: dict[str, _Rule] = {
    "matmul": _matmul,
    "outer": _outer,
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "concatenate": _concatenate,
    "diag": _diag,
    "diff": _diff,
    "cumsum": _scan,
    "cumprod": _scan,
    "getitem": _getitem,
    "setitem": _same,
    "tril": _same,
    "triu": _same,
    "gather": _same,
}
