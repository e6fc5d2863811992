"""Measurements: ratios against a named opponent in the same run, interleaved."""
