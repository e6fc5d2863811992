"""Blocked execution: arrays cut into blocks, operators turned into tasks on the blocks.

Knows steps of a physical plan, block grids and kernels; never expressions, never
`dask.distributed` (that is `lineal.engine.cluster`).
"""

from lineal.engine.blocked.grid import BlockedArray
from lineal.engine.blocked.runtime import BlockedRuntime

__all__ = ["BlockedArray", "BlockedRuntime"]
