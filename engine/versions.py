"""`show_versions`: what to paste into a bug report."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import Any


def versions() -> dict[str, str]:
    """Return the versions of Python, the system, Lineal and the libraries that it uses."""
    found = {
        "python": sys.version.split()[0],
        "system": f"{platform.system()} {platform.machine()}",
    }
    from lineal._version import __version__

    found["lineal"] = __version__
    for name in ("numpy", "scipy", "dask", "distributed", "networkx", "sympy", "numba", "rich",
                 "click", "psutil", "threadpoolctl", "pandas", "scikit-learn"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def native_pools() -> list[dict[str, Any]]:
    """Return the native thread pools (BLAS, OpenMP) of this process."""
    import numpy  # noqa: F401 - loads the BLAS that is reported
    import threadpoolctl

    keys = ("user_api", "internal_api", "version", "num_threads", "architecture")
    plain = (str, int, type(None))  # some libraries report functions where they know nothing
    return [
        {k: v if isinstance(v := pool.get(k), plain) else None for k in keys}
        for pool in threadpoolctl.threadpool_info()
    ]


def show_versions() -> None:
    """Print versions and native thread pools."""
    for name, version in versions().items():
        print(f"{name:15s} {version}")
    for pool in native_pools():
        print("threads        ", ", ".join(f"{k}={v}" for k, v in pool.items()))
