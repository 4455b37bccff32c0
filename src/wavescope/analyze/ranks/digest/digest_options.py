"""What a digest is made with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DigestOptions:
    """How steps are told, and how much is kept of what has no natural size."""

    step_marker: str = ""
    """A regular expression: markers that are steps; empty for usual names."""
    bin_count: int = 1024
    """Of the rank's time: so many that a map of 200 columns of common time is off by a hundredth;
    256 would save 3 kB and be off by a sixth."""
    kernel_count: int = 48
    """How many compute kernels are kept, those with most time."""
