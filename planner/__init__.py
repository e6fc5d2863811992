"""The planner: source to logical program to plan. No Dask, no clock, no randomness."""

if (
    __name__ != "lineal.planner"
):  # importing the folder by its bare name would make a second copy of every class
    raise ImportError("import this package as lineal.planner")
