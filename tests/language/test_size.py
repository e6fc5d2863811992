"""Long programs: thousands of terms, statements, branches; no recursion, no steep cost."""

from __future__ import annotations

import linecache
import pickle
import time

import numpy as np
import pytest

import lineal as la

from .harness import agree

x = np.arange(4.0)


def made(body: str, name: str, arguments: str = "x"):
    """Return the function whose body is `body`, with source that can be found."""
    text = f"def {name}({arguments}):\n{body}\n"
    file = f"<long {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"np": np}
    exec(compile(text, file, "exec"), space)
    return space[name]


def whole(function, *args):
    """Plan, explain, pickle and run; return the seconds that planning took."""
    program = la.program(function)
    start = time.perf_counter()
    plan = program.plan(*args)
    seconds = time.perf_counter() - start
    plan.explain()
    assert pickle.loads(pickle.dumps(plan)).hash == plan.hash
    agree(program, *args)
    return seconds


def test_five_thousand_additions_lazily():
    X = la.asarray(x)
    total = X
    for _ in range(5000):
        total = total + X
    assert repr(total)
    plan = total.plan()
    plan.explain()
    assert pickle.loads(pickle.dumps(plan)).hash == plan.hash
    np.testing.assert_allclose(total.compute(), 5001 * x)


def test_five_thousand_lazy_inputs():
    parts = [la.asarray(x + k) for k in range(1000)]
    total = parts[0]
    for part in parts[1:]:
        total = total * 0.999 + part
    expected = x.copy()
    for k in range(1, 1000):
        expected = expected * 0.999 + (x + k)
    np.testing.assert_allclose(total.compute(), expected)


def test_sum_of_2500_terms_in_source():
    whole(made("    return " + " + ".join(f"x * {k}.0" for k in range(2500)), "terms"), x)


def test_nested_calls_and_parentheses():
    depth = 40
    whole(made("    return " + "np.tanh(" * depth + "x" + ")" * depth, "calls"), x)
    right = "(x + " * depth + "x" + ")" * depth
    whole(made(f"    return {right}", "right"), x)


def test_five_thousand_statements():
    body = "\n".join(["    a = x * 0.5"] + ["    x = x + a"] * 5000 + ["    return x"])
    whole(made(body, "statements"), x)


def test_three_hundred_different_statements():
    body = "\n".join(
        [f"    v{k} = np.sqrt(np.abs(x + {k}))" for k in range(300)]
        + ["    return " + " + ".join(f"v{k}" for k in range(300))]
    )
    whole(made(body, "different"), x)


def test_elif_chain_of_300():
    links = ["    if n == 0:\n        y = x"]
    links += [f"    elif n == {k}:\n        y = x * {k}.0" for k in range(1, 300)]
    body = "\n".join([*links, "    else:\n        y = -x", "    return y"])
    function = made(body, "chain", "x, n")
    for n in (0, 5, 299, 1000):
        agree(function, x, n)


def test_elif_chain_of_300_on_data():
    links = ["    s = x.sum()\n    if s < 0:\n        y = x"]
    links += [f"    elif s < {k}:\n        y = x * {k}.0" for k in range(1, 300)]
    body = "\n".join([*links, "    else:\n        y = -x", "    return y"])
    function = made(body, "chain_on_data")
    whole(function, x)
    for factor in (-1.0, 0.1, 10.0, 100.0):
        agree(function, x * factor)


def test_300_branches_in_a_row():
    body = "\n".join(
        [
            f"    if x.sum() > {k}:\n        x = x - {k}.0\n    else:\n        x = x + 1.0"
            for k in range(300)
        ]
        + ["    return x"]
    )
    whole(made(body, "row"), x)


def test_300_early_returns():
    body = "\n".join(
        ["    s = x.sum()"]
        + [f"    if s < {k}:\n        return x * {k}.0" for k in range(300)]
        + ["    return -x"]
    )
    function = made(body, "returns")
    for factor in (1.0, 10.0, 100.0):
        agree(function, x * factor)


def test_300_loops_in_a_row():
    body = "\n".join(
        [f"    for i in range(3):\n        x = x * 0.9 + {k}.0" for k in range(300)]
        + ["    return x"]
    )
    whole(made(body, "loops"), x)


@pytest.mark.parametrize("kind", ["if", "for", "while"])
def test_nested_statements(kind):
    """CPython itself allows 20 nested loops and 100 levels of indentation."""
    depth = 15
    lines, indent = [], "    "
    for k in range(depth):
        head = {
            "if": f"if x.sum() > {k} - 100:",
            "for": f"for i{k} in range({2 if k < 4 else 1}):",
            "while": f"while x[{k % 4}] < {k}:",
        }[kind]
        lines.append(indent + head)
        indent += "    "
    lines.append(f"{indent}x = x + 1.0")
    whole(made("\n".join([*lines, "    return x"]), f"nested_{kind}"), x)


def test_90_nested_branches():
    lines, indent = [], " "
    for k in range(90):
        lines.append(f"{indent}if x.sum() > {k} - 80:")
        indent += " "
    lines.append(f"{indent}x = x * 2.0")
    whole(made("\n".join([*lines, " return x"]), "branches"), x)
    agree(made("\n".join([*lines, " return x"]), "branches"), x * 100)


def test_plan_size_does_not_depend_on_iterations():
    def f(x, n):
        for i in range(n):
            x = x * 0.999 + i
        return x

    program = la.program(f)
    short, long = program.plan(x, 2), program.plan(x, 100_000)
    assert short is long
    agree(f, x, 1000)
