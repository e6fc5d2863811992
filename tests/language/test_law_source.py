"""Law 5: a program is its source; stale and missing source are errors; programs travel alone."""

from __future__ import annotations

import importlib.util
import linecache
import pickle
import sys
import textwrap
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import lineal as la
from lineal.errors import SourceError, StaleSourceError, UnsupportedError

from .harness import agree

x = np.arange(4.0)
A = np.arange(12.0).reshape(4, 3)


def _module(path: Path, text: str, name: str = "users_module"):
    path.write_text(textwrap.dedent(text))
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ------------------------------------------------------------------------------------ stale


def test_edited_file_is_stale(tmp_path):
    path = tmp_path / "users_module.py"
    module = _module(path, "def f(x):\n    return x + 1\n")
    path.write_text("def f(x):\n    return x + 222\n")
    with pytest.raises(StaleSourceError, match="not the code that runs") as caught:
        la.program(module.f)
    assert "import it again" in str(caught.value)


def test_shifted_file_is_not_taken_for_the_function(tmp_path):
    path = tmp_path / "users_module.py"
    module = _module(path, "def f(x):\n    return x + 1\n\n\ndef g(x):\n    return x + 2\n")
    path.write_text("def g(x):\n    return x + 2\n\n\ndef f(x):\n    return x + 1\n")
    with pytest.raises(SourceError):
        la.program(module.f)


def test_source_is_captured_at_decoration(tmp_path):
    path = tmp_path / "users_module.py"
    module = _module(path, "def f(x):\n    return x + 1\n")
    program = la.program(module.f)
    path.write_text("def f(x):\n    return x + 222\n")
    assert program(x).tolist() == [1, 2, 3, 4]


def test_helper_edited_later_is_stale(tmp_path):
    path = tmp_path / "users_module.py"
    module = _module(path, "def helper(v):\n    return v * 2\n")
    path.write_text("def helper(v):\n    return v * 3\n")
    helper = module.helper

    def f(x):
        return helper(x)

    with pytest.raises(StaleSourceError):
        la.program(f)(x)


def test_deleted_file(tmp_path):
    path = tmp_path / "users_module.py"
    module = _module(path, "def f(x):\n    return x + 1\n")
    path.unlink()
    linecache.checkcache(str(path))
    with pytest.raises(SourceError) as caught:
        la.program(module.f)
    assert "la.asarray" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    'Doc.'\n    return x + 1\n",
        "def f(x):\n    return (\n        x\n        + 1\n    )\n",
        "import numpy as np\n\nif True:\n    def f(x):\n        y = np.exp(x)\n        return y\n",
        "class C:\n    @staticmethod\n    def f(x):\n        return -x\n\nf = C.f\n",
        "from __future__ import annotations\n\ndef f(x: np.ndarray) -> Missing:\n    return x\n",
        "def f(x):\n    assert x.sum() < 100, 'too large'\n    return x\n",
        "def f(x):\n    # 'def f' in a comment\n    s = 'tab\\tquote\"'\n    return x\n",
        "def deco(g):\n    return g\n\n@deco\n@deco\ndef f(x):\n    return x * 2\n",
        "def f(x):\n    return x + len('a  b')\n",
        "def f(x, n=3, *, k=2.0):\n    for _ in range(n):\n        x = x * k\n    return x\n",
    ],
)
def test_own_source_is_recognised(tmp_path, text):
    module = _module(tmp_path / "users_module.py", text)
    agree(module.f, x)


def test_tabs_and_continuation_lines(tmp_path):
    module = _module(
        tmp_path / "users_module.py",
        "def outer():\n\tdef f(x):\n\t\ty = x + \\\n\t\t\t1\n\t\treturn y\n\treturn f\n"
        "\nf = outer()\n",
    )
    agree(module.f, x)


def test_strings_of_several_lines_in_a_nested_function(tmp_path):
    module = _module(
        tmp_path / "users_module.py",
        'def outer(k):\n    def f(x):\n        """Doc.\n\n          deeper\n        """\n'
        "        return x * k\n    return f\n\nf = outer(2.0)\n",
    )
    agree(module.f, x)


# ------------------------------------------------------------------------- notebook and prompt


def _cell(text: str, number: int, space: dict) -> None:
    """Run `text` as a notebook does: compiled under a name that linecache knows."""
    name = f"<cell-{number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), space)


def test_notebook_redefinition_is_a_new_program():
    space = {"la": la, "np": np}
    _cell("@la.program\ndef f(x):\n    return x + 1\n", 1, space)
    first = space["f"]
    assert first(x)[0] == 1
    _cell("@la.program\ndef f(x):\n    return x + 2\n", 2, space)
    assert space["f"](x)[0] == 2
    assert space["f"] is not first
    assert first(x)[0] == 1


def test_notebook_helper_redefined():
    space = {"la": la, "np": np}
    _cell("def h(v):\n    return v + 1\n\n@la.program\ndef f(x):\n    return h(x)\n", 3, space)
    assert space["f"](x)[0] == 1
    _cell("def h(v):\n    return v + 5\n", 4, space)
    assert space["f"](x)[0] == 5


def test_no_source_at_a_prompt(run_python):
    done = run_python(
        "import lineal as la\n"
        "try:\n"
        "    @la.program\n"
        "    def f(x):\n"
        "        return x + 1\n"
        "except la.errors.SourceError if hasattr(la, 'errors') else Exception as e:\n"
        "    print(type(e).__name__, e)\n"
    )
    assert done.returncode == 0, done.stderr
    assert "SourceError" in done.stdout
    assert "X = la.asarray(A); (X.T @ X).compute()" in done.stdout


def test_no_source_under_exec():
    space = {"la": la}
    with pytest.raises(SourceError) as caught:
        exec("@la.program\ndef f(x):\n    return x + 1\n", space)
    assert "la.asarray" in str(caught.value)


@pytest.mark.parametrize(
    "thing", [lambda x: x, print, np.exp, 3, type("T", (), {}), "text".upper], ids=repr
)
def test_what_is_no_function(thing):
    with pytest.raises(UnsupportedError) as caught:
        la.program(thing)
    assert caught.value.hint


def test_async_function():
    async def f(x):
        return x

    with pytest.raises(UnsupportedError, match="async"):
        la.program(f)


# ----------------------------------------------------------------------------------- pickling


def test_program_pickles_with_its_globals_and_closure():
    k = 3.0
    table = np.arange(4.0)

    def helper(v):
        return v * k

    @la.program
    def f(x, by=2.0, *, extra=1.0):
        return helper(x) * by + table + extra

    again = pickle.loads(pickle.dumps(f))
    assert again(x).tolist() == f(x).tolist()
    assert again(x, 5.0, extra=0.0).tolist() == f(x, 5.0, extra=0.0).tolist()
    assert again.python(x).tolist() == f.python(x).tolist()
    assert again.plan(x).hash == f.plan(x).hash
    twice = pickle.loads(pickle.dumps(again))
    assert twice(x).tolist() == f(x).tolist()


def test_plan_pickles():
    table = np.arange(4.0)

    @la.program
    def f(x, n):
        for _ in range(n):
            x = x * 0.5 + table
        return x, np.exp(-x)

    plan = f.plan(x, 3)
    again = pickle.loads(pickle.dumps(plan))
    assert again.hash == plan.hash
    assert again.explain() == plan.explain()
    for found, expected in zip(again.run(x, 3), f.python(x, 3), strict=True):
        np.testing.assert_allclose(found, expected)
    for found, expected in zip(again.run(x, 7), f.python(x, 7), strict=True):
        np.testing.assert_allclose(found, expected)


def test_cloudpickle_too():
    @la.program
    def f(x):
        return x + 1

    assert cloudpickle.loads(cloudpickle.dumps(f))(x)[0] == 1
    assert cloudpickle.loads(cloudpickle.dumps(f.plan(x))).run(x)[0] == 1


MODULE = """
import numpy as np
import lineal as la

RATE = 0.5
TABLE = np.arange(4.0)

def helper(v):
    return np.exp(-v) * RATE

@la.program
def gram(M):
    return M.T @ M

@la.program
def f(x, A, iters=3):
    for _ in range(iters):
        x = helper(x) + TABLE
    return x, gram(A)
"""


def test_pickles_in_a_process_that_cannot_import_the_module(tmp_path, run_python):
    name = "module_of_the_user_only"
    sys.modules.pop(name, None)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    module = _module(folder / f"{name}.py", MODULE, name)
    sys.modules[name] = module
    try:
        (tmp_path / "program.pkl").write_bytes(pickle.dumps(module.f))
        (tmp_path / "plan.pkl").write_bytes(pickle.dumps(module.f.plan(x, A)))
        expected = module.f(x, A)
    finally:
        del sys.modules[name]
    done = run_python(
        "import pickle, sys, numpy as np\n"
        "x, A = np.arange(4.0), np.arange(12.0).reshape(4, 3)\n"
        "f = pickle.load(open('program.pkl', 'rb'))\n"
        "plan = pickle.load(open('plan.pkl', 'rb'))\n"
        f"assert {name!r} not in sys.modules\n"
        "for found in (f(x, A), plan.run(x, A, 3), f.python(x, A)):\n"
        "    print(repr(found[0].sum()), repr(found[1].sum()))\n"
        "try:\n"
        "    f(np.ones(3), A)\n"
        "except Exception as e:\n"
        f"    print({name!r} in str(e), 'TABLE' in str(e))\n",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"{expected[0].sum()!r} {expected[1].sum()!r}"
    assert lines[1] == lines[0]
    assert lines[3] == "True True"


def test_deep_expression_pickles():
    X = la.asarray(x)
    total = X
    for _ in range(5000):
        total = total + X
    plan = total.plan()
    again = pickle.loads(pickle.dumps(plan))
    np.testing.assert_allclose(again.run(x), x * 5001)
