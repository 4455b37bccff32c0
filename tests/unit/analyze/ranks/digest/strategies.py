"""Digests of any content, for property tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from wavescope.analyze.ranks.digest import (
    CollectiveRows,
    CollectiveUse,
    Group,
    KernelTotal,
    RankDigest,
    RankIdentity,
    StepRows,
    TimeBins,
)

LONG = st.integers(-(1 << 63), (1 << 63) - 1)
SHORT_COLUMNS = ("use", "queue", "peer", "step", "phase")
TEXT = st.text(st.characters(codec=None), max_size=8)
"""Any characters, also halves of pairs, which names of files may hold."""


@st.composite
def rows(draw: st.DrawFn, kind: Any, rows_of: dict[str, int], **fixed: int) -> Any:
    """A table of any columns; `rows_of` says how many rows there are to be numbers of."""
    names = [name for name in kind.__dataclass_fields__ if name not in fixed]
    count = draw(st.integers(0, 6))
    if rows_of.get("use") == 0:
        count = 0
    columns = {}
    for name in names:
        values = LONG
        if name in SHORT_COLUMNS and count:
            values = st.integers(0 if name == "use" else -1, rows_of.get(name, 1 << 31) - 1)
        drawn = draw(st.lists(values, min_size=count, max_size=count))
        columns[name] = np.array(drawn, np.int32 if name in SHORT_COLUMNS else np.int64)
    return kind(**fixed, **columns)


@st.composite
def any_digest(draw: st.DrawFn) -> RankDigest:
    """A digest whose parts fit together and are arbitrary otherwise."""
    unknown_or = st.none() | LONG
    groups = draw(
        st.lists(
            st.builds(Group, TEXT, TEXT, LONG, st.lists(LONG, max_size=4).map(tuple)), max_size=3
        )
    )
    use = st.builds(
        CollectiveUse, TEXT, st.integers(-1, len(groups) - 1), TEXT, LONG, st.floats(), TEXT
    )
    uses = draw(st.lists(use, max_size=3))
    phases = draw(st.lists(TEXT, max_size=3))
    steps = draw(rows(StepRows, {"phase": len(phases)}))
    return RankDigest(
        identity=draw(
            st.builds(
                RankIdentity,
                unknown_or,
                unknown_or,
                *(TEXT, LONG, LONG, TEXT, TEXT, TEXT, LONG, LONG),
            )
        ),
        path=draw(TEXT),
        format=draw(TEXT),
        op_count=draw(LONG),
        first_ns=draw(LONG),
        last_ns=draw(LONG),
        groups=tuple(groups),
        uses=tuple(uses),
        collectives=draw(rows(CollectiveRows, {"use": len(uses), "step": len(steps)})),
        steps=steps,
        steps_told_by=draw(TEXT),
        phases=tuple(phases),
        kernels=tuple(draw(st.lists(st.builds(KernelTotal, TEXT, TEXT, *[LONG] * 5), max_size=3))),
        bins=draw(
            rows(TimeBins, {}, first_ns=draw(LONG), width_ns=draw(st.integers(1, (1 << 63) - 1)))
        ),
        monitors=tuple(draw(st.lists(st.tuples(TEXT, st.floats()), max_size=3))),
        clock=draw(TEXT),
        lost_ops=draw(LONG),
        older_ops=draw(LONG),
        is_sampled=draw(st.booleans()),
        notes=tuple(draw(st.lists(TEXT, max_size=3))),
    )
