"""Which part of a session is its trace, where only the newest of a recording was to be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from wavescope.formats.session.folder import RECENT_PART
from wavescope.formats.session.reading import Window


def recent_windows(
    session: Path, bases: Sequence[str], until_ns: int | None = None
) -> Mapping[str, Window] | None:
    """What a trace of the session is to hold; None for all of it.

    It is the newest part before `until_ns`, or before the recorder last looked.
    """
    try:
        state = orjson.loads((session / RECENT_PART).read_bytes())
        end_ns = int(state["end_ns"])
        until_ns = min(end_ns, int(state["until_ns"]) if until_ns is None else until_ns)
        start_ns = 0 if state["last_ns"] is None else until_ns - int(state["last_ns"])
        fallen_out = {
            base: {int(key): int(count) for key, count in counts.items()}
            for base, counts in state["fallen_out"].items()
        }
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return None
    return {base: Window(start_ns, end_ns, fallen_out=fallen_out.get(base, {})) for base in bases}
