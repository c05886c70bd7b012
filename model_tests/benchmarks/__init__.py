"""Benchmarks: scripts that print a table, never timed tests."""
