"""Recorders that a recorded program runs: what they start is theirs, which the outer one tells."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import orjson

from wavescope.collect.record_options import RecordOptions
from wavescope.collect.recording.injection import SESSION_VARIABLE
from wavescope.formats.session.folder import INNER_RECORDERS, SESSION_FACTS
from wavescope.formats.session.plain_file import DamagedStreamError, plain_bytes

_MOST_BYTES = 1 << 20
_MOST_TOLD = 5


def announce_inner_recorder(options: RecordOptions, environment: Mapping[str, str]) -> None:
    """Leave word in the session of the recorder under which this one runs, if there is one."""
    outer = Path(environment.get(SESSION_VARIABLE) or "/nowhere")
    if not (outer / SESSION_FACTS).is_file():
        return
    line = orjson.dumps(str(options.output.absolute()).encode("utf-8", "replace").decode())
    with suppress(OSError), (outer / INNER_RECORDERS).open("ab") as file:
        file.write(line + b"\n")


def inner_recorders(session: Path) -> list[str]:
    """A sentence for each trace that was recorded from within a recorded program."""
    try:
        lines = plain_bytes(session / INNER_RECORDERS, _MOST_BYTES).splitlines()
    except (OSError, DamagedStreamError):
        return []
    sentences = []
    for line in lines:
        with suppress(orjson.JSONDecodeError):
            trace = orjson.loads(line)
            sentences.append(f"a recorder within the program recorded what it started: see {trace}")
    if len(sentences) > _MOST_TOLD:
        left = len(sentences) - _MOST_TOLD
        return [*sentences[:_MOST_TOLD], f"... and {left} more recorders within the program"]
    return sentences
