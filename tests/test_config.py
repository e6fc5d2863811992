"""Options: values, errors that list the valid ones, scoping by block and thread."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from lineal.config import OPTION_NAMES, Options, current, options
from lineal.errors import OptionError


def test_defaults() -> None:
    assert Options() == Options("adaptive", "hybrid", 0.0, "real", None)
    assert set(OPTION_NAMES) == {"redundancy", "evaluation", "tolerance", "algebra", "rewrites"}
    assert pickle.loads(pickle.dumps(Options(tolerance=1))) == Options(tolerance=1.0)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"redundancy": "all"}, "'conservative'"),
        ({"evaluation": "Hybrid"}, "'incremental'"),
        ({"algebra": None}, "'strict'"),
        ({"redundancy": ["adaptive"]}, "'adaptive'"),
        ({"tolerance": -1.0}, "0 or more"),
        ({"tolerance": float("nan")}, "0 or more"),
        ({"tolerance": float("inf")}, "0 or more"),
        ({"tolerance": True}, "0 or more"),
        ({"tolerance": "0.1"}, "0 or more"),
        ({"rewrites": "hoist"}, "'hoist'"),
        ({"rewrites": (1,)}, "tuple"),
        ({"tolerances": 0.1}, "tolerance, algebra"),
    ],
)
def test_mistakes_list_what_is_valid(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError) as caught:
        options(**changes)
    assert named in str(caught.value)
    with pytest.raises(OptionError):
        Options().replace(**changes)


def test_blocks_nest_and_end_on_error() -> None:
    with options(tolerance=0.5):
        with options(algebra="strict") as inner:
            assert inner == current() == Options(tolerance=0.5, algebra="strict")
        assert current() == Options(tolerance=0.5)
        with pytest.raises(ZeroDivisionError), options(redundancy="none"):
            1 / 0  # noqa: B018
        assert current() == Options(tolerance=0.5)
    assert current() == Options()


def test_one_object_enters_twice() -> None:
    block = options(rewrites=["b", "a", "a"])
    with block, block:
        assert current().rewrites == ("a", "b")
    assert current() == Options()


def test_threads_do_not_see_each_other() -> None:
    seen: list[Options] = []
    with options(tolerance=0.5):
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
    assert seen == [Options()]
