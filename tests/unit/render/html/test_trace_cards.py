"""The figures that a report begins with."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.page import report_of
from wavescope.model.columns import OLDER_THAN_KEPT
from wavescope.model.selection import Selection, select
from wavescope.render.html.page import Card
from wavescope.render.html.trace_cards import report_cards
from wavescope.render.html.trace_page import gaps_html


def cards(maker: TraceMaker, selection: Selection | None = None) -> dict[str, Card]:
    trace = select(maker.build(), selection or Selection())
    return {card.title: card for card in report_cards(report_of(trace))}


def two_gpus_one_after_the_other() -> TraceMaker:
    """Each is in use for 100 of 1,000 ns, and busy for 40 of them."""
    maker = a_trace()
    for gpu, start in ((0, 0), (1, 900)):
        maker.with_kernel("a", start, start + 20, gpu=gpu)
        maker.with_kernel("a", start + 80, start + 100, gpu=gpu)
    return maker


def test_what_is_not_busy_is_idle_on_one_page() -> None:
    shown = cards(two_gpus_one_after_the_other())

    assert shown["GPU busy"].value == "40.0 %"
    assert shown["Idle in between"].value == "60.0 %"
    assert shown["GPUs in use"].value == "10.0 %"


def test_gpus_that_are_in_use_together_need_no_figure_for_it() -> None:
    maker = a_trace().with_kernel("a", 0, 10).with_kernel("a", 0, 10, gpu=1)

    assert "GPUs in use" not in cards(maker)


def test_the_page_says_what_the_host_did_during_gaps() -> None:
    trace = two_gpus_one_after_the_other().build()
    page = str(gaps_html(report_of(trace), 0))

    assert "Idle time by what the host did" in page
    assert "Before launch" in page


@pytest.mark.parametrize(
    ("made_room", "lost", "tone"), [(90, 0, "good"), (85, 5, "warning"), (75, 15, "problem")]
)
def test_what_made_room_as_asked_is_no_fault_of_a_trace(
    made_room: int, lost: int, tone: str
) -> None:
    maker = a_trace().with_kernel("a", 0, 10)
    maker.with_coverage(100, 10, skipped=made_room, reason=OLDER_THAN_KEPT["--max-size"])
    maker.with_coverage(0, 0, lost=lost, reason="lost because the buffers were full")

    shown = cards(maker)["Coverage"]

    assert (shown.value, shown.tone) == ("10.0 %", tone)
    assert shown.remark == f"10 dispatches timed, {made_room} made room for newer ones"


def test_a_filtered_page_says_of_what_busy_is() -> None:
    shown = cards(two_gpus_one_after_the_other(), Selection(kernel="a"))

    assert shown["GPU busy"].remark == "the whole GPU, over the selected time"
