"""Lineal: NumPy programs, planned and run."""

from pathlib import Path

_here = Path(__file__).parent
if not (_here / "planner").is_dir() and (_here.parent / "planner").is_dir():
    # A source checkout on sys.path: the sub-packages are this folder's siblings, not its children.
    __path__.append(str(_here.parent))
