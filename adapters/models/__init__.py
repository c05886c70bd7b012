"""Provider streams and calls, cancellable."""
