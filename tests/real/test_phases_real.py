"""Phases and findings of real traces: attribution by cause, and evidence that can be queried."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import wavescope
from wavescope.analyze.findings import findings
from wavescope.analyze.markers import Basis
from wavescope.analyze.phases.marked import MarkedPhases, marked_phases
from wavescope.formats.sqlite.read_only_query import ReadOnlyQuery
from wavescope.formats.wavescope.writing import write_trace

TRACES = (
    "kineto/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "kineto/h200/h200_dense_eager.json.gz",
    "kineto/h200/h200_graph_decode.json.gz",
    "kineto/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    "kineto/sglang/sglang_Qwen3-8B_decode.json.gz",
    "rtl/ctypes_markers.db",
    "rtl/hip_4gpu.db",
    "rpd/synthetic_v3.rpd",
    "rocprofv3/908_results.json.gz",
    "rocprofv3/rocpd_v3_sample.db",
)


def op_counts(phases: MarkedPhases) -> dict[str, tuple[int, int]]:
    """Occurrences and ops of each path."""
    return {
        phases.path_text(number): (facts.occurrences, facts.op_count)
        for number, facts in enumerate(phases.facts)
    }


def test_nested_annotations_of_kineto(shared_data: Path) -> None:
    with wavescope.open(shared_data / "kineto/h200/h200_dense_eager.json.gz") as trace:
        phases = marked_phases(trace)

        assert op_counts(phases) == {
            "request": (2, 12_224),
            "request > prefill": (2, 734),
            "request > decode": (2, 11_488),
            "request > decode > decode_step": (32, 11_488),
        }
        assert phases.basis_counts[Basis.CAUSE] == 12_224


def test_graph_replays_belong_to_the_range_that_launched_them(shared_data: Path) -> None:
    with wavescope.open(shared_data / "kineto/h200/h200_graph_decode.json.gz") as trace:
        assert op_counts(marked_phases(trace)) == {"prefill": (3, 297), "decode": (3, 15_744)}


def test_the_gpu_works_long_after_the_host_left_the_range(shared_data: Path) -> None:
    path = shared_data / "kineto/vllm/vllm_decode_graph_execution.json.gz"
    with wavescope.open(path) as trace:
        phases = marked_phases(trace)

        assert op_counts(phases) == {"execute (decode)": (1, 434)}
        assert int(trace.ops["start_ns"].min()) > int(phases.found.host.ends.max())


def test_ops_launched_before_the_recording_belong_to_no_step(shared_data: Path) -> None:
    path = shared_data / "kineto/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
    with wavescope.open(path) as trace:
        phases = marked_phases(trace)

        assert op_counts(phases) == {"ProfilerStep#6": (1, 1_054)}
        assert phases.outside_op_count == 463


def test_recorded_ranges_of_rocm_trace_lite(shared_data: Path) -> None:
    with wavescope.open(shared_data / "rtl/ctypes_markers.db") as trace:
        assert op_counts(marked_phases(trace)) == {
            "step_*": (20, 900),
            "step_* > prefill": (20, 100),
            "step_* > decode": (20, 800),
        }


@pytest.mark.parametrize("name", TRACES)
def test_the_evidence_of_every_finding_can_be_queried(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "trace.db"
    with wavescope.open(shared_data / name) as trace:
        write_trace([trace.source], path)
    with wavescope.open(path) as trace:
        for finding in findings(trace):
            assert finding.numbers
            if finding.sql:
                with closing(ReadOnlyQuery(path, finding.sql)) as query:
                    assert next(iter(query), None) is not None, finding.id


def test_the_eager_decode_is_bound_by_launches_and_the_graph_is_not(shared_data: Path) -> None:
    def bound(name: str) -> set[str]:
        with wavescope.open(shared_data / "kineto/h200" / name) as trace:
            return {each.where for each in findings(trace) if each.id == "launch-bound"}

    assert bound("h200_dense_eager.json.gz") == {
        "phase request > prefill",
        "phase request > decode > decode_step",
    }
    assert bound("h200_graph_decode.json.gz") == {"phase prefill"}
