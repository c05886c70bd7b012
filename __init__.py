"""Leverframe: the lifecycles of an AI-agent harness as declared state machines."""

__version__ = "0.1.0"
