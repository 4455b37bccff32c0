"""Perfetto files of rocprofv3: category and arguments say what each slice is."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavescope.formats.perfetto.reader import open_perfetto
from wavescope.formats.protobuf_wire import (
    fixed64,
    integer,
    message,
    text,
)
from wavescope.model.trace import Trace

PID = 100
PROCESS_TRACK, THREAD_TRACK, STREAM_TRACK = 30, 31, 32
ARGUMENT_NAMES = (
    "begin_ns", "end_ns", "tid", "corr_id", "kind", "operation", "stream_ID", "queue", "kernel_id",
    "copy_bytes", "LDS_Block_Size", "VGPR_Count", "workgroup_size", "grid_size", "agent",
    "src_agent", "dst_agent", "delta_ns", "ancestor_id",
)  # fmt: skip
CATEGORIES = ("kernel_dispatch", "memory_copy", "marker_api", "hip_api", "someone_else")

HEAD = (
    message(
        1,
        message(
            12,
            *(
                message(3, integer(1, 1 + n), text(2, name))
                for n, name in enumerate(ARGUMENT_NAMES)
            ),
            *(message(1, integer(1, 1 + n), text(2, name)) for n, name in enumerate(CATEGORIES)),
        ),
        integer(10, 1),
        integer(13, 1),
    )
    + message(
        1, message(60, integer(1, PROCESS_TRACK), message(3, integer(1, PID), text(6, "app")))
    )
    + message(1, message(60, integer(1, THREAD_TRACK), integer(5, 30), text(2, "THREAD 1 (101)")))
    + message(1, message(60, integer(1, STREAM_TRACK), integer(5, 30), text(2, 'STREAM [" 1 "] ')))
)


def a_slice(category: str, name: str, track: int, **arguments: int | str) -> bytes:
    """The two packets of a slice, as rocprofv3 writes them: the end right behind the beginning."""
    start_ns, end_ns = int(arguments["begin_ns"]), int(arguments["end_ns"])
    fields = [
        integer(9, 1),
        integer(11, track),
        integer(3, 1 + CATEGORIES.index(category)),
        text(23, name),
        fixed64(47, 7),
    ]
    for argument, value in arguments.items():
        label = integer(1, 1 + ARGUMENT_NAMES.index(argument))
        stored = integer(3, value) if isinstance(value, int) else text(6, value)
        fields.append(message(4, label, stored))
    begin = message(1, integer(8, start_ns), integer(10, 1), message(11, *fields))
    end = message(11, integer(9, 2), integer(11, track))
    return begin + message(1, integer(8, end_ns), integer(10, 1), end)


def a_kernel(name: str, begin_ns: int, end_ns: int, agent: str = "Agent-1", **more: int) -> bytes:
    return a_slice(
        "kernel_dispatch", name, STREAM_TRACK,
        **{"begin_ns": begin_ns, "end_ns": end_ns, "kind": 11, "agent": agent, "tid": 101,
           "corr_id": 5, "queue": 0, "kernel_id": 12, "stream_ID": 1, "LDS_Block_Size": 512,
           "VGPR_Count": 8, "workgroup_size": 256, "grid_size": 4096, **more},
    )  # fmt: skip


def a_copy(name: str, begin_ns: int, end_ns: int, source: str, target: str) -> bytes:
    return a_slice(
        "memory_copy", f"MEMORY_COPY_{name}", STREAM_TRACK,
        begin_ns=begin_ns, end_ns=end_ns, kind=10, operation=2, src_agent=source, dst_agent=target,
        copy_bytes=4096, corr_id=6, tid=101, stream_ID=1,
    )  # fmt: skip


def a_call(name: str, begin_ns: int, end_ns: int, correlation: int, kind: int = 21) -> bytes:
    return a_slice(
        "hip_api", name, THREAD_TRACK, begin_ns=begin_ns, end_ns=end_ns, tid=101, kind=kind,
        operation=1, corr_id=correlation, ancestor_id=0, stream_ID=1,
    )  # fmt: skip


def a_marker(name: str, begin_ns: int, end_ns: int, operation: int) -> bytes:
    return a_slice(
        "marker_api", name, THREAD_TRACK, begin_ns=begin_ns, end_ns=end_ns, tid=101, kind=32,
        operation=operation, corr_id=9, ancestor_id=0,
    )  # fmt: skip


@pytest.fixture
def opened(tmp_path: Path):
    def open_bytes(*packets: bytes) -> Trace:
        path = tmp_path / "out.pftrace"
        path.write_bytes(HEAD + b"".join(packets))
        return Trace(open_perfetto(path))

    return open_bytes


def test_a_kernel_has_its_launch_and_the_call_that_caused_it(opened) -> None:
    trace = opened(
        a_call("hipLaunchKernel", 10, 20, correlation=5),
        a_kernel("add(float*) [clone .kd]", 30, 40),
    )

    ops, calls = trace.ops, trace.calls
    assert ops.strings("name") == ["add(float*)"]
    assert ops.strings("type") == ["KernelExecution"]
    columns = ("gpu", "queue", "stream", "start_ns", "end_ns", "thread", "grid_x", "workgroup_x")
    assert [int(ops[name][0]) for name in columns] == [0, 1, 1, 30, 40, 101, 4096, 256]
    assert (int(ops["lds_bytes"][0]), int(ops["grid_y"][0])) == (512, -1)
    assert calls.strings("name") == ["hipLaunchKernel"]
    assert calls.strings("category") == ["HIP_RUNTIME_API_EXT"]
    assert calls.strings("domain") == ["HIP"]
    assert (trace.links["call"].tolist(), trace.links["op"].tolist()) == ([1], [1])
    assert trace.kernels.strings("name") == ["add(float*)"]
    assert trace.kernels["vgprs"].tolist() == [8]
    assert trace.processes["pid"].tolist() == [PID]
    assert trace.processes.strings("name") == ["app"]
    assert list(trace.notes) == []


def test_kernels_that_overlap_on_one_track_keep_their_own_times(opened) -> None:
    trace = opened(a_kernel("long", 10, 90), a_kernel("short", 20, 30), a_kernel("late", 80, 95))

    assert dict(
        zip(
            trace.ops.strings("name"),
            zip(trace.ops["start_ns"].tolist(), trace.ops["end_ns"].tolist(), strict=True),
            strict=True,
        )
    ) == {"long": (10, 90), "short": (20, 30), "late": (80, 95)}


def test_copies_tell_cpus_from_gpus(opened) -> None:
    trace = opened(
        a_copy("HOST_TO_DEVICE", 10, 20, "Agent-1", "Agent-3"),
        a_copy("DEVICE_TO_HOST", 30, 40, "Agent-2", "Agent-0"),
        a_kernel("k", 50, 60, agent="Agent-3"),
    )

    assert trace.ops.strings("type") == ["KernelExecution", "CopyHostToDevice", "CopyDeviceToHost"]
    assert trace.ops["gpu"].tolist() == [1, 1, 0]
    assert trace.ops["source_device"].tolist() == [-1, -1, 0]
    assert trace.ops["target_device"].tolist() == [-1, 1, -1]
    assert trace.ops["size_bytes"].tolist() == [-1, 4096, 4096]


def test_agents_by_type_are_what_they_say(opened) -> None:
    trace = opened(a_kernel("k", 50, 60, agent="GPU-3"))

    assert trace.ops["gpu"].tolist() == [3]


def test_ranges_and_marks_are_markers(opened) -> None:
    trace = opened(a_marker('a "range"\n', 10, 40, operation=1), a_marker("mark", 20, 20, 0))

    assert trace.markers.strings("name") == ['a "range"\n', "mark"]
    assert trace.markers["flags"].tolist() == [0, 1]
    assert len(trace.calls) == 0


def test_slices_of_others_in_the_same_file_stay_host_calls(opened) -> None:
    trace = opened(
        a_slice("someone_else", "loop", THREAD_TRACK, begin_ns=1, end_ns=9),
        a_kernel("k", 50, 60),
        a_call("hipFree", 70, 80, correlation=8),
    )

    assert trace.calls.strings("name") == ["loop", "hipFree"]
    assert trace.calls["process"].tolist() == [0, 0]
    assert trace.ops["process"].tolist() == [0]
    assert trace.processes["pid"].tolist() == [PID]
    assert [note for note, _ in trace.notes] == [
        "another producer's Perfetto file: every slice was read as a host call"
    ]


@pytest.mark.parametrize("agent", ["", "Agent", "Agent-99999999999", "GPU-x", "\ud7ff"])
def test_an_agent_that_cannot_be_made_out_is_noted(opened, agent: str) -> None:
    trace = opened(a_kernel("k", 50, 60, agent=agent))

    assert trace.ops["gpu"].tolist() == [0]
    assert list(trace.notes) == [("ops whose agent is not a known GPU, counted for GPU 0", 1)]


def test_an_unknown_kind_of_call_is_named_by_its_category(opened) -> None:
    trace = opened(a_call("hipNew", 10, 20, correlation=5, kind=999))

    assert trace.calls.strings("category") == ["HIP_API"]
    assert trace.calls.strings("domain") == ["HIP"]


@pytest.mark.parametrize("kept", range(1, 400, 7))
def test_a_file_cut_anywhere_is_read_up_to_there(tmp_path: Path, kept: int) -> None:
    whole = HEAD + a_call("hipLaunchKernel", 10, 20, correlation=5) + a_kernel("k", 30, 40)
    path = tmp_path / "cut.pftrace"
    path.write_bytes(whole[: len(whole) - min(kept, len(whole) - len(HEAD))])

    trace = Trace(open_perfetto(path))

    assert len(trace.ops) == 0
    assert len(trace.calls) <= 1
