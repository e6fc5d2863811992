"""Block kernels and their specs. Know arrays and shapes, never expressions, never Dask."""

if (
    __name__ != "lineal.kernels"
):  # importing the folder by its bare name would make a second copy of every class
    raise ImportError("import this package as lineal.kernels")
