"""Lineal: NumPy programs, planned and run."""
