"""The `lineal` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; exit with 0, 1 (the program failed) or 2 (wrong usage)."""
    from lineal.engine.cli import cli

    sys.exit(cli())


if __name__ == "__main__":
    main()
