"""Patches, acknowledgements and stale buffers of editors."""
