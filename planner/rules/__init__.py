"""The rewrite rules, one family a file, and the visible order in which they are tried."""

if __name__ != "lineal.planner.rules":  # a second copy of a class breaks isinstance
    raise ImportError("import this package as lineal.planner.rules")
