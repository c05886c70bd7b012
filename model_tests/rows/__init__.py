"""The race tables, row by row: each row is a test."""
