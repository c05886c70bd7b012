"""Stores that keep snapshots, journal and outbox on a disk: who wins a race across processes, and after a crash."""
