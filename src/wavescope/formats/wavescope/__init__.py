"""The trace file of wavescope itself: its reader, and `writing`, which readers need not load."""

from pathlib import Path

from wavescope.formats import sniff

__all__ = ["is_wavescope_file"]


def is_wavescope_file(path: Path) -> bool:
    """Whether `path` is a trace file as wavescope itself writes it."""
    return sniff.is_wavescope_file(sniff.probe(path))
