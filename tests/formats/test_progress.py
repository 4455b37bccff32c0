"""Every writer says how far it is, and in the end that all is done, also where rows are missing."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.chunks import a_process
from wavescope.formats import exporter_for, write_source
from wavescope.formats.registry import exporters
from wavescope.formats.session.reading import open_session


@pytest.mark.parametrize("exporter", [each.name for each in exporters()])
def test_whoever_writes_what_is_left_says_at_the_end_that_all_is_done(
    exporter: str, tmp_path: Path
) -> None:
    process = a_process(tmp_path / "session").with_agent(0)
    process.with_empty("ops", 960).with_empty("calls", 96)
    for start in range(40):
        process.with_op(start=start, end=start + 1).with_call(1, start, start + 1)
    process.with_marker("newest", 5, 6, id=5000).write()
    output, steps = tmp_path / "output", list[tuple[int, int]]()

    with open_session(process.folder) as source:
        write_source(
            source,
            output,
            exporter_for(output, exporter),
            inputs=[],
            progress=lambda *step: steps.append(step),
        )

    done, total = steps[-1]
    assert done == total >= 40
    assert all(one[0] * other[1] <= other[0] * one[1] for one, other in pairwise(steps))
