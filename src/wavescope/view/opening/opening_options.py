"""How a trace is opened for looking at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class CacheOptions:
    """Where lanes are kept for the next opening, and how many."""

    folder: Path | None = None
    """None: below the user's folder for caches."""
    largest_bytes: int = 8 << 30
    """Of all that is kept; what was not used for longest goes first."""
    fewest_ranges: int = 200_000
    """Traces with fewer are read as quickly."""


@dataclass(frozen=True)
class OpeningOptions:
    """Choices for `open_view`."""

    cache: CacheOptions | None = field(default_factory=CacheOptions)
    """None: nothing is kept, and nothing that was kept is used."""
    batch_rows: int = 1 << 15
    """Read at a time, while nobody else can use the trace."""
    publish_seconds: float = 0.5
    """From one picture to the next while there is more to read."""
