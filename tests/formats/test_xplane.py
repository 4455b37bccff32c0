"""xplane.pb of JAX and TensorFlow: planes, lines and events become the rows they mean."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.imported_modules import modules_of
from tests.registered import importer_called
from tests.xplane_files import APlane, a_space
from wavescope.errors import UnreadableInputError
from wavescope.formats import open_trace
from wavescope.formats.sniff import probe
from wavescope.formats.xplane import reader as xplane_reader
from wavescope.model.columns import THREADS
from wavescope.model.trace import Trace

IMPORTER = importer_called("xplane")
DETAILS = "regs:32 static_shared:512 dynamic_shared:1024 grid:8,2,1 block:256,1,1 occ_pct:50"
BASE_NS = 1_700_000_000_000_000_000


def gpu_plane(number: int = 0, *, by_reference: bool = False) -> APlane:
    plane = APlane(f"/device:GPU:{number}", by_reference=by_reference)
    kernel = {"correlation_id": 5, "kernel_details": DETAILS, "hlo_op": "fusion.1"}
    copy = {"correlation_id": 6, "memcpy_details": "kind_src:device size:4096 dest:0 async:1"}
    return plane.with_line(
        "Stream #13(Kernel,MemcpyD2H)",
        13,
        BASE_NS,
        plane.event("_Z3addPf", 1_999, 2_000_500, kernel),
        plane.event("MemcpyD2H", 5_000_000, 1_000_000, copy),
        plane.event("Memset", 7_000_000, 1_000, {"Memset_details": "kind:device size:64"}),
    )


def host_plane() -> APlane:
    plane = APlane("/host:CPU")
    return plane.with_line(
        "python3",
        4242,
        BASE_NS,
        plane.event("train", 0, 9_000_000, {"step_num": 7}),
        plane.event("PjitFunction(f)", 0, 8_000_000, {"_r": 1, "bytes": 16, "name": "f"}),
        plane.event("hipLaunchKernel", 500_000, 100_000, {"correlation_id": 5}),
        plane.event("hipMemcpyAsync", 700_000, 100_000, {"correlation_id": 6}),
    )


def written(folder: Path, content: bytes) -> Path:
    path = folder / "host.xplane.pb"
    path.write_bytes(content)
    return path


def opened(folder: Path, *planes: APlane) -> Trace:
    return open_trace(written(folder, a_space(*planes, host="node1")))


@pytest.mark.parametrize("by_reference", [False, True])
def test_streams_of_a_gpu_are_its_ops(tmp_path: Path, by_reference: bool) -> None:
    trace = opened(tmp_path, gpu_plane(3, by_reference=by_reference))

    ops = trace.ops
    assert ops.strings("name") == ["add(float*)", "MemcpyD2H", "Memset"]
    assert ops.strings("type") == ["KernelExecution", "CopyDeviceToHost", "FillMemory"]
    assert (ops["gpu"].tolist(), ops["stream"].tolist()) == ([3] * 3, [13] * 3)
    assert (ops["start_ns"] - BASE_NS).tolist() == [1, 5_000, 7_000]
    assert (ops["end_ns"] - BASE_NS).tolist() == [2_002, 6_000, 7_001]
    assert ops["lds_bytes"].tolist() == [1536, -1, -1]
    assert ops["size_bytes"].tolist() == [-1, 4096, 64]
    assert [ops[f"grid_{axis}"][0] for axis in "xyz"] == [2048, 2, 1]
    assert [ops[f"workgroup_{axis}"][0] for axis in "xyz"] == [256, 1, 1]
    assert trace.processes.strings("host") == ["node1"]
    assert list(trace.notes) == []


def test_calls_are_linked_to_what_they_caused_and_steps_are_markers(tmp_path: Path) -> None:
    trace = opened(tmp_path, host_plane(), gpu_plane())

    calls = trace.calls
    assert calls.strings("name") == ["PjitFunction(f)", "hipLaunchKernel", "hipMemcpyAsync"]
    assert calls["thread"].tolist() == [4242] * 3
    assert calls.strings("args") == ['{"bytes":16,"name":"f"}', "", ""]
    links = zip(trace.links["call"].tolist(), trace.links["op"].tolist(), strict=True)
    assert list(links) == [(2, 1), (3, 2)]
    assert trace.markers.strings("name") == ["train 7"]
    assert (trace.markers["end_ns"] - BASE_NS).tolist() == [9_000]
    assert trace.table(THREADS).strings("name") == ["python3"]


def test_facts_of_the_device_are_those_of_the_agent(tmp_path: Path) -> None:
    plane = gpu_plane().with_stats(
        clock_rate=2_100_000, core_count=304, memory_size=192 << 30, gpu_device_name="MI300X"
    )
    agents = opened(tmp_path, plane).agents

    assert agents.strings("model") == ["MI300X"]
    assert [int(agents[name][0]) for name in ("cu_count", "clock_mhz", "memory_bytes")] == [
        304, 2_100, 192 << 30,
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["XLA Ops", "XLA Modules", "Steps", "Framework Ops"])
def test_lines_that_repeat_the_work_are_left_out(tmp_path: Path, name: str) -> None:
    plane = gpu_plane()
    plane.with_line(name, 99, BASE_NS, plane.event("fusion.1", 0, 9_000_000))

    assert len(opened(tmp_path, plane).ops) == 3


def test_planes_of_other_devices_are_noted(tmp_path: Path) -> None:
    other = APlane("/device:TPU:0")
    other.with_line("XLA Ops", 1, BASE_NS, other.event("fusion", 0, 1_000))
    trace = opened(tmp_path, gpu_plane(), other, APlane("/host:metadata"))

    assert len(trace.ops) == 3
    assert list(trace.notes) == [("planes of other devices or kinds, which are not read", 1)]


def test_events_that_make_no_sense_are_noted(tmp_path: Path) -> None:
    plane = APlane("/device:GPU:0")
    plane.with_line(
        "Stream #1", 1, 1_000,
        plane.event("k", 0, 1_000),
        plane.counted("k", 99),
        plane.event("k", -9_000_000, 1_000),
        plane.event("k", 5_000, -3_000),
    )  # fmt: skip
    plane.with_line("Stream #2", 2, 1 << 62, plane.event("k", 0, 1_000))
    trace = opened(tmp_path, plane)

    assert trace.ops["start_ns"].tolist() == [1_000, 1_005]
    assert trace.ops["end_ns"].tolist() == [1_001, 1_005]
    assert dict(trace.notes) == {
        "events without a time, only counted, were left out": 1,
        "events whose times make no sense were left out": 2,
        "events that end before they start, given a length of zero": 1,
    }


@pytest.mark.parametrize(
    ("name", "details", "expected"),
    [
        ("MemcpyH2D", {}, "CopyHostToDevice"),
        ("MemcpyHtoD", {}, "CopyHostToDevice"),
        ("MemcpyP2P", {}, "CopyPeerToPeer"),
        ("MemcpyOther", {}, "Copy"),
        ("CopyBuffer", {"memcpy_details": "size:1"}, "Copy"),
        ("memcpyish_kernel", {"kernel_details": DETAILS}, "KernelExecution"),
        ("loop_fusion", {}, "KernelExecution"),
    ],
)
def test_names_tell_copies_from_kernels(
    tmp_path: Path, name: str, details: dict[str, str], expected: str
) -> None:
    plane = APlane("/device:GPU:0")
    plane.with_line("Stream #1", 1, BASE_NS, plane.event(name, 0, 1_000, details))

    assert opened(tmp_path, plane).ops.strings("type") == [expected]


def test_it_is_told_from_perfetto_also_when_compressed(tmp_path: Path) -> None:
    content = a_space(gpu_plane())
    path = written(tmp_path, content)
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(content))

    for each in (path, packed):
        assert IMPORTER.matches(probe(each))
        assert len(open_trace(each).ops) == 3


def test_a_first_plane_larger_than_what_is_looked_at_is_recognised(tmp_path: Path) -> None:
    plane = APlane("/host:CPU")
    plane.with_line("t", 1, BASE_NS, *(plane.event(f"call{n}", n, 1_000) for n in range(20_000)))
    trace = opened(tmp_path, plane, gpu_plane())

    assert (len(trace.calls), len(trace.ops)) == (20_000, 3)


def test_a_file_longer_than_any_message_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, a_space(gpu_plane()))
    monkeypatch.setattr(xplane_reader, "_BLOCK_BYTES", 4)
    monkeypatch.setattr(xplane_reader, "_MOST_BYTES", 4)

    with pytest.raises(UnreadableInputError, match="longer than 2 GiB"):
        open_trace(path)


def test_a_file_cut_short_is_read_up_to_there(tmp_path: Path) -> None:
    content = a_space(gpu_plane(), host_plane())
    trace = open_trace(written(tmp_path, content[:-10]))

    assert (len(trace.ops), len(trace.calls)) == (3, 0)
    assert list(trace.notes) == [("the file ends within a plane: read up to there", 1)]
    with pytest.raises(UnreadableInputError, match="no whole plane"):
        open_trace(written(tmp_path, a_space(gpu_plane())[:-10]))


@given(st.integers(0, 1 << 20), st.binary(max_size=8))
def test_damage_anywhere_is_noted_or_refused(
    tmp_path_factory: pytest.TempPathFactory, place: int, content: bytes
) -> None:
    whole = bytearray(a_space(gpu_plane(), host_plane()))
    at = 20 + place % (len(whole) - 20)
    whole[at : at + len(content)] = content
    path = written(tmp_path_factory.mktemp("damaged"), bytes(whole))
    try:
        trace = IMPORTER.open(path)
    except UnreadableInputError:
        return
    loaded = Trace(trace)
    assert (loaded.ops["end_ns"] >= loaded.ops["start_ns"]).all()
    assert (loaded.calls["end_ns"] >= loaded.calls["start_ns"]).all()


def test_reading_it_imports_no_other_format(tmp_path: Path) -> None:
    path = written(tmp_path, a_space(gpu_plane()))

    imported = modules_of("info", str(path))

    assert not {name for name in imported if name.startswith("wavescope.formats.chrome")}
    assert not {name for name in imported if name.startswith("wavescope.formats.rocprofv3.")}
