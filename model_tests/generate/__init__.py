"""The public generators of tests, from a machine, a system or a trace."""
