"""Phases of the same trace in every format that has markers."""

from __future__ import annotations

from pathlib import Path

import pytest

import wavescope
from tests.builders import a_trace
from tests.formats import test_rocprofv3_csv as csv
from tests.sample_files import write_as
from wavescope.analyze.markers import Basis
from wavescope.analyze.phases.marked import marked_phases
from wavescope.model.trace import Trace

NAMES = ("t.db", "t.rpd", "t.json", "t.json.gz", "t.pftrace", "t_results.json")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps with prefill and decode; every op runs one step later than it was launched."""
    maker = a_trace().with_process(42, rank=0, name="server").with_agent(0, chip="gfx942")
    op = 0
    for step in range(2):
        first_ns = 1_000_000 + step * 1_000
        maker.with_marker(f"step {step}", first_ns, first_ns + 900, category="roctx", thread=7)
        for name, offset in (("prefill", 100), ("decode", 500)):
            start = first_ns + offset
            maker.with_marker(name, start, start + 300, category="roctx", thread=7)
            for index in range(1 if name == "prefill" else 3):
                op += 1
                call = start + 10 * index + 10
                maker.with_call("hipLaunchKernel", call, call + 5, pid=42, thread=7, correlation=op)
                late = call + 2_000
                maker.with_kernel("k", late, late + 6, stream=1, correlation=op, thread=7)
                maker.with_link(op, op)
    return write_as(maker, tmp_path_factory.mktemp("original") / "trace.db")


@pytest.mark.parametrize("name", NAMES)
def test_ops_belong_to_the_phase_that_launched_them(
    original: Path, tmp_path: Path, name: str
) -> None:
    converted = wavescope.convert(original, tmp_path / name)
    with wavescope.open(converted) as trace:
        phases = marked_phases(trace)
        found = {
            phases.path_text(number): (facts.occurrences, facts.op_count, facts.gpu_time_ns)
            for number, facts in enumerate(phases.facts)
        }

    assert found == {
        "step *": (2, 8, 48),
        "step * > prefill": (2, 2, 12),
        "step * > decode": (2, 6, 36),
    }
    assert phases.basis_counts[Basis.CAUSE] == 8


def test_rocprofv3_csv_with_and_without_calls(tmp_path: Path) -> None:
    markers = csv.CALLS + "".join(
        f'"MARKER_CORE_RANGE_API","{name}",900,77,{number},{start},{end}\n'
        for number, (name, start, end) in enumerate((("prefill", 0, 100), ("decode", 100, 200)))
    )
    kernels = (
        csv.KERNELS
        + csv.kernel("early", 120, 130, correlation=8)
        + csv.kernel("late", 210, 220, correlation=9)
    )
    calls = csv.CALLS + "".join(
        f'"HIP_RUNTIME_API","hipLaunchKernel",900,77,{correlation},{start},{start + 2}\n'
        for correlation, start in ((8, 50), (9, 150))
    )
    files = {"p_marker_api_trace": markers, "p_kernel_trace": kernels}
    plain = csv.opened(csv.write(tmp_path / "plain", **files))
    with_calls = csv.opened(csv.write(tmp_path / "calls", **files, p_hip_api_trace=calls))

    def phases_of_ops(trace: Trace) -> list[str]:
        phases = marked_phases(trace)
        return [phases.path_text(path) for path in phases.path_of_op.tolist()]

    assert phases_of_ops(plain) == ["decode", ""]
    assert phases_of_ops(with_calls) == ["prefill", "decode"]
