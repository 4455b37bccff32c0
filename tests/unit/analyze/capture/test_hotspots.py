"""Hotspots: rankings by line and instruction, inline chains, entry lines, context, coverage."""

from __future__ import annotations

import pytest

from tests.capture_analyses import traced
from tests.capture_folders import CaptureBuilder, a_capture, step
from wavescope.analyze.capture import HotspotOptions, hotspots
from wavescope.analyze.capture.entry_lines import entry_lines
from wavescope.analyze.capture.hotspot_report import Mode, View
from wavescope.analyze.capture.source_lines import FrameChoice, bar, line_map
from wavescope.model.capture import Frame
from wavescope.model.result import Result

SOURCE = "import flydsl\n@kernel\ndef attention(q, k):\n    a = load(q)\n    b = load(k)\n    c = a + b\n    store(c)\n"


def a_kernel() -> CaptureBuilder:
    """The waits are mapped to the decorator, as compilers do."""
    return (
        a_capture(demangled="attention")
        .with_source("/k/attention.py", SOURCE)
        .with_code(
            ("s_load_dwordx4 s[0:3], s[4:5], 0x0", "/k/attention.py:2"),
            ("s_waitcnt lgkmcnt(0)", "/k/attention.py:2"),
            (
                "buffer_load_dwordx4 v[0:3], v4, s[8:11], 0 offen",
                "/k/ops.py:9 -> /k/attention.py:4",
            ),
            (
                "buffer_load_dwordx4 v[4:7], v4, s[8:11], 0 offen",
                "/k/ops.py:9 -> /k/attention.py:5",
            ),
            ("s_waitcnt vmcnt(0)", "/k/attention.py:2"),
            ("v_add_f32 v0, v1, v2", "/k/attention.py:6"),
            ("s_endpgm", ""),
        )
        .with_wave(
            [
                step(1),
                step(2, stall=60),
                step(3, stall=10),
                step(4, stall=30),
                step(5, stall=800),
                step(6, stall=100, idle=9),
                step(7),
            ]
        )
    )


def report(builder: CaptureBuilder, **options: object) -> Result:
    return hotspots(traced(builder), HotspotOptions(**options))  # type: ignore[arg-type]


def test_facts_and_types_add_up() -> None:
    result = report(a_kernel())
    types = result.table("stall_types")

    assert result.facts["stall"] == 1000
    assert result.facts["latency"] == 1028
    assert result.facts["wait_stall_charged_percent"] == 100
    assert result.facts["charged_basis"] == "executed waves"
    assert sum(types.column("stall")) == sum(types.column("charged_stall")) == 1000  # type: ignore[arg-type]
    by_type = {row["type"]: row for row in types.records()}
    assert by_type["VMEM-wait"]["stall"] == 800
    assert by_type["VMEM-wait"]["charged_stall"] == 0
    assert by_type["VMEM-load"]["charged_stall"] == 840
    assert by_type["SMEM-wait"]["stall"] == 60
    assert (by_type["SMEM-wait"]["hits"], by_type["SMEM-wait"]["latency"]) == (1, 64)
    assert "LDS/SMEM-wait" not in by_type
    assert by_type["SMEM"]["charged_stall"] == 60


def test_mixed_waits_are_split_by_their_producers() -> None:
    builder = a_capture().with_code(
        "global_load_dword v0, v[0:1], off", "ds_read_b32 v0, v1", "s_waitcnt vmcnt(0) lgkmcnt(0)"
    )
    result = report(builder.with_wave([step(1), step(2), step(3, stall=100)]))
    stall = dict(
        zip(
            result.table("stall_types").column("type"),
            result.table("stall_types").column("stall"),
            strict=True,
        )
    )

    assert (stall["VMEM-wait"], stall["LDS-wait"]) == (50, 50)
    assert "mixed-wait" not in stall


def test_a_wait_counts_once_and_with_all_its_cycles() -> None:
    builder = a_capture().with_code(
        "global_load_dword v0, v[0:1], off", "ds_read_b32 v0, v1", "s_waitcnt vmcnt(0) lgkmcnt(0)"
    )
    result = report(builder.with_wave([step(1), step(2), step(3, stall=100, issue=8)]))
    rows = {row["type"]: row for row in result.table("stall_types").records()}
    columns = ("hits", "rows", "latency", "stall_rate_percent")

    assert [rows["VMEM-wait"][name] for name in columns] == [1, 1, 58, 100 * 50 / 58]
    assert [rows["LDS-wait"][name] for name in columns] == [0, 0, 50, 100]
    assert sum(row["latency"] for row in rows.values()) == result.facts["latency"]  # type: ignore[misc]


def test_instructions_are_ranked_in_both_views() -> None:
    result = report(a_kernel(), topk=2)
    raw, charged = result.table("instructions"), result.table("instructions_charged")

    assert raw.column("row") == [5, 6]
    assert raw.column("stall") == [800, 100]
    assert raw.column("stall_percent") == [80, 10]
    assert raw.column("blame") == ["4: buffer_load_dwordx4", None]
    assert raw.column("stall_per_hit") == [800, 100]
    assert raw.column("idle") == [0, 9]
    assert raw.total_rows == 5
    assert charged.column("row") == [4, 6]
    assert charged.column("stall") == [830, 100]
    assert charged.column("blame") == ["5: s_waitcnt", None]
    assert charged.column("source")[0] == "ops.py:9 -> attention.py:5"


@pytest.mark.parametrize(
    ("frame", "lines"),
    [
        (FrameChoice.INNERMOST, {"ops.py:9": 840, "attention.py:6": 100}),
        (
            FrameChoice.OUTERMOST,
            {"attention.py:5": 830, "attention.py:6": 100, "attention.py:4": 10},
        ),
        (
            FrameChoice.ANY,
            {"ops.py:9": 840, "attention.py:5": 830, "attention.py:6": 100, "attention.py:4": 10},
        ),
    ],
)
def test_lines_by_the_chosen_frame(frame: FrameChoice, lines: dict[str, int]) -> None:
    table = report(a_kernel(), frame=frame, mode=Mode.SRC, view=View.CHARGED).table("lines_charged")

    assert dict(zip(table.column("line"), table.column("stall"), strict=True)) == lines


def test_a_frame_met_twice_in_a_chain_counts_once() -> None:
    builder = a_capture().with_code(("s_nop 0", "/a.py:1 -> /b.py:2 -> /a.py:1"))
    analysis = traced(builder.with_wave([step(1, stall=10)]))
    lines = line_map(analysis.instructions, analysis.kind_code, FrameChoice.ANY)

    stall = dict(zip(lines.frames, lines.stall.tolist(), strict=True))
    assert (stall[Frame("/a.py", 1)], stall[Frame("/b.py", 2)]) == (10, 10)


def test_the_decorator_is_shown_apart_with_what_was_charged_elsewhere() -> None:
    result = report(a_kernel(), frame=FrameChoice.OUTERMOST)
    (entry,) = result.table("entry_lines").records()

    assert entry["line"] == "attention.py:2"
    assert entry["reason"] == "decorator"
    assert entry["text"] == "@kernel"
    assert (entry["stall"], entry["stall_percent"]) == (860, 86)
    assert (entry["charged_elsewhere"], entry["charged_stall"], entry["charged_percent"]) == (
        800,
        60,
        6,
    )
    assert entry["producers"] == "attention.py:5 800"
    assert "attention.py:2" not in result.table("lines").column("line")
    (finding,) = [finding for finding in result.findings if finding.id == "entry-lines"]
    assert finding.numbers == {"stall": 860, "charged_elsewhere": 800}


def test_nothing_is_dropped_between_lines_and_entry_lines() -> None:
    result = report(a_kernel(), topk=0)
    raw = [*result.table("lines").column("stall"), *result.table("entry_lines").column("stall")]
    charged = [
        *result.table("lines_charged").column("stall"),
        *result.table("entry_lines").column("charged_stall"),
    ]

    assert sum(raw) == 1000  # type: ignore[arg-type]
    assert sum(charged) == 1000  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@flyc.kernel(known=1)", "decorator"),
        ("  async def attention(a):", "function definition"),
        ('extern "C" __global__ void attention(float* a)', "kernel definition"),
        ("void attention(float* a) {", "kernel definition"),
        ("    attention(a);", ""),
        ("x = attention_of(a)", ""),
        ("a = load(q)", ""),
        ("email @ home", ""),
    ],
)
def test_definitions_are_told_from_code(text: str, reason: str) -> None:
    builder = a_capture(demangled="attention(float*)").with_source("/a", text)
    analysis = traced(builder.with_code(("s_nop 0", "/a:1")).with_wave([step(1, stall=5)]))
    found = entry_lines(
        analysis, line_map(analysis.instructions, analysis.kind_code, FrameChoice.INNERMOST)
    )

    assert [entry.reason for entry in found] == ([reason] if reason else [])


def test_without_sources_a_first_line_spread_over_the_code_is_an_entry_line() -> None:
    code = [("s_nop 0", "/a.py:1" if row % 3 == 0 else f"/a.py:{row}") for row in range(12)]
    builder = a_capture().with_code(*code, ("s_nop 1", "/a.py:0"))
    analysis = traced(builder.with_wave([step(row, stall=1) for row in range(1, 14)]))
    found = entry_lines(
        analysis, line_map(analysis.instructions, analysis.kind_code, FrameChoice.INNERMOST)
    )

    assert [(entry.frame.line, entry.stall) for entry in found] == [(1, 5), (0, 1)]


def test_context_shows_the_source_with_bars() -> None:
    result = report(a_kernel(), frame=FrameChoice.OUTERMOST, has_detail=True, context=1, topk=1)
    table = result.table("context_1")

    assert table.title == (
        "#1 attention.py:5: 83.0 % of all stall charged (3.0 % raw), VMEM-load, stall rate 88 %"
    )
    assert table.column("line") == [4, 5, 6]
    assert table.column("mark") == ["", ">", ""]
    assert table.column("stall") == [10, 30, 100]
    assert table.column("charged_stall") == [10, 830, 100]
    assert table.column("text") == ["    a = load(q)", "    b = load(k)", "    c = a + b"]
    assert table.column("heat_percent") == [1, 83, 10]
    assert table.column("bar") == ["█" + "░" * 19, "█" * 20, "█" * 3 + "░" * 17]
    instructions = result.table("line_instructions_1")
    assert instructions.column("row") == [4]


def test_the_raw_view_draws_raw_stall() -> None:
    result = report(
        a_kernel(), frame=FrameChoice.OUTERMOST, view=View.RAW, has_detail=True, context=0, topk=1
    )

    assert result.table("context_1").title.startswith(
        "#1 attention.py:6: 10.0 % of all stall, VALU"
    )
    assert result.table("context_1").column("bar") == ["█" * 20]


def test_bars_show_any_stall() -> None:
    assert bar(0, 100) == "░" * 20
    assert bar(1, 100_000) == "█" + "░" * 19
    assert bar(100, 100) == "█" * 20
    assert bar(0, 0) == "░" * 20


def test_coverage_says_what_was_seen() -> None:
    facts = report(a_kernel()).facts

    assert (facts["executed_row_count"], facts["row_count"]) == (7, 7)
    assert (facts["wave_count"], facts["expected_wave_count"]) == (1, 1)
    assert facts["shader_engine_count"] == 1
    assert facts["stall_with_source_percent"] == 100
    assert facts["row_mismatch_count"] == 0
    assert facts["category_mismatch_count"] == 0
    assert facts["dependency_agreement_percent"] == 100
    assert facts["is_partial"] is False


def test_an_empty_trace_gives_an_empty_report() -> None:
    result = report(a_capture())

    assert result.facts["stall"] == 0
    assert result.table("lines").rows == []
    assert result.facts["stall_rate_percent"] is None


def test_zero_cycles_are_said() -> None:
    result = report(a_capture().with_code("s_nop 0").with_wave([step(1)]))

    assert [finding.id for finding in result.findings] == ["no-stall"]


def test_wave_files_of_another_capture_are_noticed() -> None:
    builder = a_kernel()
    rows = builder.rows()
    rows[3][0] = "v_add_f32 v0, v1, v2"
    rows[6][8] += 1
    builder.rows = lambda: rows  # type: ignore[method-assign]

    result = report(builder)

    assert result.facts["category_mismatch_count"] == 1
    assert result.facts["row_mismatch_count"] == 1
    (finding,) = [one for one in result.findings if one.id == "waves-and-code-disagree"]
    assert finding.numbers == {"rows": 1, "events": 1}
