"""What a path that a user names can hold."""

from __future__ import annotations

import enum


class InputKind(str, enum.Enum):
    """The three things that commands look at; the value is what messages call it."""

    TRACE = "trace"
    CAPTURE = "capture"
    COUNTERS = "counter folder"
