"""What changes from prefill to decode, and markers beside structure."""

from __future__ import annotations

import pytest

import wavescope
from tests.builders import TraceMaker, a_trace
from tests.serving_traces import VLLM_ROCM, eager_decode
from wavescope.analyze.phases.annotations import BatchTokens, batch_tokens


def marked() -> TraceMaker:
    """A prompt of products, then tokens of attention; a range nests in decode."""
    maker = a_trace().with_marker("prefill", 0, 1_000).with_marker("decode", 1_000, 2_000)
    maker.with_marker("decode_step 1", 1_100, 1_500)
    maker.with_kernel("Cijk_Ailk_MT256x128x64", 0, 800)
    maker.with_kernel("flash_fwd_kernel", 800, 1_000)
    maker.with_kernel("Cijk_Ailk_MT256x128x64", 1_200, 1_300)
    return maker.with_kernel("flash_fwd_kernel", 1_600, 1_900)


def test_shares_and_directions_of_each_kind_of_work() -> None:
    table = wavescope.phases(marked().build()).table("phase_insights")

    rows = {row["category"]: row for row in table.records()}
    attention, gemm = rows["attention"], rows["GEMM"]
    assert (attention["prefill_percent"], attention["decode_percent"]) == (20.0, 75.0)
    assert (attention["direction"], attention["change_points"]) == ("up", 55.0)
    assert (gemm["direction"], gemm["prefill_mean_ns"], gemm["decode_mean_ns"]) == (
        "down",
        800,
        100,
    )
    assert str(attention["insight"]).startswith("more of decode: ")
    assert str(gemm["insight"]).startswith("more of prefill: ")


def test_found_phases_have_insights_too_and_one_phase_has_none() -> None:
    found = wavescope.phases(eager_decode(VLLM_ROCM, layers=3).trace)
    alone = a_trace().with_marker("prefill", 0, 100).with_kernel("k", 0, 50)
    alone.with_marker("load", 100, 200).with_kernel("k", 100, 150)

    shares = found.table("phase_insights").column("decode_percent")
    assert sum(float(share or 0) for share in shares) == pytest.approx(100)
    assert "phase_insights" not in [table.name for table in wavescope.phases(alone.build()).tables]


@pytest.mark.parametrize(
    ("texts", "tokens"),
    [
        (["execute_context_3(8155)_generation_37(37)"], (8_155, 37)),
        (["execute_8192_context_9(sq8155sk8430sqsq7)_generation_37(sq37sk34)"], (8_155, 37)),
        (["step[EXTEND bs=15 toks=15360]", "DECODE bs=32"], (15_360, 32)),
        (["step[DECODE bs=32]", "execute_32_context_0(sq0)_generation_32(sq32)"], (0, 32)),
        (["decode", "step 1"], (0, 0)),
    ],
)
def test_tokens_of_annotated_batches(texts: list[str], tokens: tuple[int, int]) -> None:
    assert batch_tokens(texts) == BatchTokens(*tokens)


def test_markers_that_contradict_structure_are_believed_and_that_is_told() -> None:
    """All of it is within one range called prefill, though most steps are decode."""
    served = eager_decode(VLLM_ROCM, layers=3)
    (server,) = served.servers
    maker = a_trace()
    for row in server.rows:
        maker.with_kernel(**row)  # type: ignore[arg-type]

    result = wavescope.phases(maker.with_marker("prefill", 0, server.now_ns).build())

    assert result.facts["source"] == "markers"
    (finding,) = (each for each in result.findings if each.id == "phases-disagree")
    assert 0 < float(str(finding.numbers["agreement_percent"])) < 90
