"""Reads what `wavescope profile` noted of a workload: what went wrong, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wavescope.model.workload_layout import RECORD_FILE

_MOST_BYTES = 16 << 20
_MOST_NAMES = 8


def profile_notes(folder: Path) -> list[str]:
    """What is to be known of the counters; nothing when all went well, or nothing was noted."""
    path = folder / RECORD_FILE
    try:
        if path.stat().st_size > _MOST_BYTES:
            return [f"{RECORD_FILE} was left out: it is too large to be one"]
        content = json.loads(path.read_text(encoding="utf-8"))
        return [*_of_passes(content), *_of_counters(content)]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return [f"{RECORD_FILE} was left out: {error}"]


def _of_passes(content: Mapping[str, Any]) -> Iterator[str]:
    for name, each in content["passes"].items():
        for problem in each.get("problems", []):
            yield f"{name}: {problem}"


def _of_counters(content: Mapping[str, Any]) -> Iterator[str]:
    names = [str(name) for name in content.get("unknown_counters", [])]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        yield (
            f"rocprofv3 did not know {len(names)} counters of the chip, and what needs them is "
            f"missing: {' '.join(names[:_MOST_NAMES])}{more}"
        )
