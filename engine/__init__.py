"""Sessions, lowering to Dask, the loop runtime, explain views and the command line."""

if (
    __name__ != "lineal.engine"
):  # importing the folder by its bare name would make a second copy of every class
    raise ImportError("import this package as lineal.engine")
