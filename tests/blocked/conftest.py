"""Fixtures of the blocked tests."""
