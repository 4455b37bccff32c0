"""Reasons of the coverage table that findings know, too."""

from __future__ import annotations

OLDER_THAN_KEPT = {
    "--max-size": "older than the newest records, which are all that --max-size keeps",
    "--last": "older than the newest part, which is all that was to be kept",
}
"""Of dispatches that made room for newer ones, by the option that asks for it."""
