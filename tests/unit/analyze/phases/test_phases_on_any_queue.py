"""The same work has the same phases on whichever hardware queues its streams are."""

from __future__ import annotations

from collections import Counter

import pytest

import wavescope
from tests.engine_queues import (
    INPUTS,
    LOADED,
    PROMPT_OPS,
    PROMPTS,
    QUEUES,
    TOKEN_OPS,
    TOKENS,
    Queues,
    engine_trace,
    request_trace,
)
from wavescope.analyze.phases.found import FoundPhase, found_phases
from wavescope.analyze.steps import steps_of

ON_ANY = pytest.mark.parametrize("queues", QUEUES.values(), ids=QUEUES.keys())


@ON_ANY
def test_every_op_has_the_phase_that_it_is_for(queues: Queues) -> None:
    trace, meant = engine_trace(queues)

    found = found_phases(trace)

    assert found.phase_codes.tolist() == meant.tolist()
    steps = Counter(code for codes in found.step_phases for code in codes.tolist())
    assert steps == {FoundPhase.PREFILL: PROMPTS, FoundPhase.DECODE: TOKENS}


@ON_ANY
def test_of_a_request_alone_nothing_was_loaded(queues: Queues) -> None:
    trace, meant = request_trace(queues)

    found = found_phases(trace)

    assert found.phase_codes.tolist() == meant.tolist()
    assert set(meant.tolist()) == {FoundPhase.PREFILL, FoundPhase.DECODE}


@ON_ANY
def test_phases_count_what_was_copied_for_them_and_not_what_was_loaded(queues: Queues) -> None:
    trace, _ = engine_trace(queues)

    rows = wavescope.phases(trace).table("phases").records()

    assert [(row["path"], row["steps"], row["op_count"]) for row in rows] == [
        ("prefill", PROMPTS, PROMPTS * (INPUTS + PROMPT_OPS)),
        ("decode", TOKENS, TOKENS * (INPUTS + TOKEN_OPS) + 1),
        ("unclassified", None, LOADED),
    ]


@ON_ANY
def test_every_op_is_in_the_step_that_it_is_for(queues: Queues) -> None:
    trace, _ = engine_trace(queues)
    sizes = [INPUTS + PROMPT_OPS] * PROMPTS + [INPUTS + TOKEN_OPS] * TOKENS
    sizes[PROMPTS] += 1  # the cache is cleared before the first token

    of_op = steps_of(trace).of_op

    assert Counter(of_op.tolist()) == {-1: LOADED, **dict(enumerate(sizes))}
