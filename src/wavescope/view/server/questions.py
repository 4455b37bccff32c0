"""Every question of the page: the name in its address, and the function that answers it.

Modules are imported when they are first asked, so that the address can be told at once.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from wavescope.view.answers import Question

_ROOM = "wavescope.view"
QUESTIONS: Mapping[str, str] = {
    "traces": "answers.traces:traces",
    "tiles": "tiles.question:tiles",
    "names": "tiles.question:names",
    "colouring": "answers.colours:colouring",
    "details": "answers.details:details",
    "range": "answers.ranges:range_",
    "search": "answers.search:search",
    "search_next": "answers.search:search_next",
    "flame": "answers.flame:flame",
    "flame_search": "answers.flame:flame_search",
    "findings": "answers.insight:findings",
    "steps": "answers.insight:steps",
    "kernels": "answers.kernels:kernels",
    "kernel": "answers.kernels:kernel",
    "alignments": "answers.comparing:alignments",
    "differences": "answers.comparing:differences",
    "window": "answers.window:window",
}
"""Asked with GET."""
POSTED: Mapping[str, str] = {"sql": "answers.sql:sql"}
"""Asked with POST, because a statement may be long and belongs into no address."""

_FIRST_ASKED = ("traces", "tiles", "names", "colouring")


def import_what_is_asked_first() -> None:
    """Have the modules ready that every page needs; it may well be done while one is opened."""
    for name in _FIRST_ASKED:
        question(QUESTIONS[name])


def question(place: str) -> Question:
    """The function at one of the places above."""
    module, _, function = place.partition(":")
    found: Question = getattr(importlib.import_module(f"{_ROOM}.{module}"), function)
    return found
