"""Ten million ops in the viewer, from the file to the browser: nothing estimated, nothing left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

import wavescope
from tests.browser import Browser, PageView
from tests.view_pages import BOXES, WHOLE, decoded_tile
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import OPS
from wavescope.model.op_kinds import KERNEL_TYPE

COUNT = 10_000_000
PART = 1_000_000
STEP_NS = 1_000
FIRST_NS = 1_700_000_000_123_456_789
NAMES = ("gemm_kernel", "softmax_kernel", "add_kernel")


def lengths(ops: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of the op with that number, which starts at its number times `STEP_NS`."""
    return 100 + ops * 7_919 % 800


def names(ops: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return ops * 31 % 7 % len(NAMES)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("large") / "large.db"
    builder = TraceBuilder(str(path), "test")
    codes = np.array([builder.strings.code(name) for name in NAMES])
    for first in range(0, COUNT, PART):
        ops = np.arange(first, first + PART)
        starts = FIRST_NS + ops * STEP_NS
        builder.add(
            OPS,
            {
                "gpu": np.zeros(PART, np.int64),
                "queue": np.ones(PART, np.int64),
                "name": codes[names(ops)],
                "type": np.full(PART, builder.strings.code(KERNEL_TYPE)),
                "start_ns": starts,
                "end_ns": starts + lengths(ops),
            },
        )
    write_trace([builder], path)
    builder.close()
    with wavescope.open_view(path, cache=False) as view:
        yield view.address


@pytest.fixture
def page(browser: Browser, address: str) -> PageView:
    page = browser.page(address)
    page.becomes(WHOLE, "true")
    return page


def times_between(name: str, edges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How long kernels of that name ran between each two of the edges, op by op."""
    first, last = int(edges[0] // STEP_NS), int(edges[-1] // STEP_NS)
    ops = np.arange(max(0, first - 1), min(COUNT, last + 1))
    ops = ops[names(ops) == NAMES.index(name)]
    starts = ops * STEP_NS
    covered = np.concatenate(([0], np.cumsum(lengths(ops))))

    def before(times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        begun = np.searchsorted(starts, times)
        beyond = starts[begun - 1] + lengths(ops[begun - 1]) - times
        return covered[begun] - np.where(begun > 0, np.maximum(0, beyond), 0)

    return np.diff(before(edges))


@pytest.mark.parametrize(("scale", "first"), [(7_812_501.5, 0), (65_537.25, 99_000), (333.5, 9**7)])
def test_shares_are_exact_at_every_zoom(page: PageView, scale: float, first: int) -> None:
    edges = np.floor(np.arange(first, first + 513) * scale).astype(np.int64)

    tile = decoded_tile(page, "queue/0/1", scale, first, 512)

    for label, name in (("GEMM", NAMES[0]), ("softmax", NAMES[1]), ("elementwise", NAMES[2])):
        times = times_between(name, edges)
        shares = np.maximum(np.rint(times * (255 / np.diff(edges))), times > 0)
        assert tile["shares"].get(label, [0] * 512) == shares.astype(int).tolist()


def test_zoomed_in_every_op_is_there(browser: Browser, address: str) -> None:
    start = 9_876_543 * STEP_NS
    page = browser.page(f"{address}#window={start}_{start + 20 * STEP_NS}")
    page.becomes(WHOLE, "true")

    assert page.value(BOXES) == "20"


def test_ops_are_searched_and_ranges_summed_up_exactly(page: PageView) -> None:
    ops = np.arange(COUNT)
    gemms = names(ops) == 0
    found = page.value(
        "fetch('api/search?trace=0&pattern=^gemm&bins=10').then((answer) => answer.json())"
    )
    assert (found["count"], found["duration_ns"]) == (gemms.sum(), lengths(ops[gemms]).sum())

    begin, end = 5_000_000, 5_200_000
    asked = f"api/range?trace=0&start={begin * STEP_NS}&end={end * STEP_NS}&parts=summary"
    result = page.value(f"fetch('{asked}').then((answer) => answer.json())")
    (kernels,) = (table for table in result["tables"] if table["name"] == "kernels")
    columns = [column["name"] for column in kernels["columns"]]
    rows = [dict(zip(columns, row, strict=True)) for row in kernels["rows"]]
    told = {row["name"]: (row["calls"], row["total_ns"]) for row in rows}
    part = np.arange(begin, end)
    assert told == {
        name: (int((names(part) == n).sum()), int(lengths(part[names(part) == n]).sum()))
        for n, name in enumerate(NAMES)
    }
