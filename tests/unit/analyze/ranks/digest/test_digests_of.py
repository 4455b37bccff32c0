"""Who ranks are, what their collectives and steps are called, and what could not be told."""

from __future__ import annotations

import json

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.ranks.digest import (
    UNKNOWN,
    CollectiveUse,
    DigestOptions,
    Group,
    RankDigest,
    digests_of,
)
from wavescope.model.columns import MONITORS, OLDER_THAN_KEPT
from wavescope.model.selection import Selection, select

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def only(maker: TraceMaker, options: DigestOptions | None = None) -> RankDigest:
    (digest,) = digests_of(maker.build(), options)
    return digest


def with_collective(maker: TraceMaker, number: int, start: int, **record: object) -> TraceMaker:
    """The `number`-th op, launched inside a record of PyTorch; calls are two for each op."""
    maker.with_call("record_param_comms", start - 10, start - 1, args=json.dumps(record))
    maker.with_call("cudaLaunchKernel", start - 8, start - 5)
    maker.with_kernel(ALL_REDUCE, start, start + 20)
    return maker.with_link(2 * number, number)


def test_a_process_with_a_rank_is_that_rank() -> None:
    digest = only(
        a_trace()
        .with_process(41, rank=3, world_size=8, host="node7")
        .with_agent(5, chip="gfx942", model="MI300X", uuid="GPU-1", cu_count=304, clock_mhz=2100)
        .with_kernel("gemm", 10, 20, gpu=5)
    )

    who = digest.identity
    assert (who.rank, who.world_size, who.host, who.pid, who.gpu) == (3, 8, "node7", 41, 5)
    assert (who.gpu_uuid, who.gpu_model, who.chip) == ("GPU-1", "MI300X", "gfx942")
    assert (who.compute_units, who.clock_mhz) == (304, 2100)
    assert (digest.path, digest.format, digest.clock) == ("test.db", "test", "")


def test_ranks_of_one_file_are_told_apart() -> None:
    maker = a_trace().with_process(41, rank=1).with_process(40, rank=0)
    maker.with_kernel("first", 0, 10, process=0, gpu=1).with_kernel("second", 0, 30, process=1)
    # Of an unknown process: the GPU is used by rank 1 alone.
    maker.with_kernel("third", 20, 25, process=-1, gpu=1, grid_x=64)
    ranks = digests_of(maker.build())

    assert [(each.identity.rank, each.identity.pid, each.op_count) for each in ranks] == [
        (0, 40, 1),
        (1, 41, 2),
    ]
    assert [kernel.name for kernel in ranks[1].kernels] == ["first", "third"]
    assert [kernel.work_items for kernel in ranks[1].kernels] == [UNKNOWN, 64]


def test_processes_of_one_rank_are_one() -> None:
    maker = a_trace().with_process(41, rank=1).with_process(42, rank=1)
    digest = only(maker.with_kernel("a", 0, 10).with_kernel("b", 20, 30, process=1))

    assert digest.op_count == 2


def test_processes_without_ranks_are_ranks_each() -> None:
    maker = a_trace().with_process(41).with_process(42).with_process(43)
    ranks = digests_of(
        maker.with_kernel("a", 0, 10).with_kernel("b", 0, 20, process=2, gpu=1).build()
    )

    assert [(each.identity.rank, each.identity.pid) for each in ranks] == [(None, 41), (None, 43)]


def test_gpus_of_a_lone_process_without_rank_are_ranks_each() -> None:
    maker = a_trace().with_process(41).with_kernel("a", 0, 10).with_kernel("b", 5, 20, gpu=2)
    maker.with_copy(0, 50, gpu=3)
    ranks = digests_of(maker.build())

    assert [each.identity.gpu for each in ranks] == [0, 2]
    assert ranks[1].first_ns == 5
    assert ranks[0].notes == ("one process without a rank used 2 GPUs: each GPU counts as a rank",)


def test_a_rank_with_several_gpus_is_one_and_says_so() -> None:
    maker = a_trace().with_process(41, rank=0)
    digest = only(maker.with_kernel("a", 0, 10).with_kernel("b", 5, 20, gpu=2))

    assert digest.bins.busy_ns.sum() == 20
    assert digest.notes == ("it used 2 GPUs, whose work counts together",)


def test_a_trace_without_ops_is_an_empty_rank() -> None:
    digest = only(a_trace().with_process(41, rank=2))

    assert digest.identity.rank == 2
    assert (len(digest.collectives), len(digest.steps), len(digest.bins)) == (0, 0, 0)
    assert (digest.first_ns, digest.last_ns, digest.kernels) == (0, 0, ())
    assert digest.notes == ("there are no GPU ops in the trace",)


def test_ops_with_impossible_times_are_left_out() -> None:
    maker = a_trace().with_kernel("a", 0, 10).with_kernel("b", -(1 << 63), (1 << 63) - 1)
    digest = only(maker.with_kernel("c", 20, 15))

    assert (digest.first_ns, digest.last_ns, digest.lost_ops) == (0, 10, 2)
    assert digest.notes == ("ops with impossible times were left out: 2",)


def test_what_was_recorded_of_collectives_is_kept() -> None:
    maker = a_trace().with_process(41, rank=0)
    common = {
        "Collective name": "allreduce",
        "dtype": "BFloat16",
        "In msg nelems": 100,
        "Out msg nelems": 100,
        "Group size": 4,
        "Process Group Name": "1",
        "Process Group Description": "tp",
    }
    with_collective(maker, 1, 100, **common, **{"Process Group Ranks": "[0, 1, 2, 3]", "Seq": 7})
    with_collective(maker, 2, 200, **common, **{"Process Group Ranks": "[0, 1, 2, 3]", "Seq": "8"})
    with_collective(
        maker,
        3,
        300,
        **{
            "Collective name": "send",
            "dtype": "Float",
            "In msg nelems": 10,
            "Process Group Ranks": [4, 5],
            "Dst Rank": 5,
        },
    )
    digest = only(maker.with_kernel(ALL_REDUCE, 400, 410))

    assert digest.groups == (Group("1", "tp", 4, (0, 1, 2, 3)), Group("", "", 2, (4, 5)))
    assert digest.uses == (
        CollectiveUse("all-reduce", 0, "BFloat16", 200, 1.5, "allreduce"),
        CollectiveUse("send/recv", 1, "Float", 40, 1.0, "send"),
        CollectiveUse("all-reduce", name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL"),
    )
    rows = digest.collectives
    assert rows.use.tolist() == [0, 0, 1, 2]
    assert rows.sequence.tolist() == [7, 8, UNKNOWN, UNKNOWN]
    assert rows.peer.tolist() == [UNKNOWN, UNKNOWN, 5, UNKNOWN]


def test_groups_that_the_file_lists_complete_those_of_collectives() -> None:
    job = {"pg_config": [{"pg_name": "1", "pg_desc": "dp", "pg_size": 2, "ranks": [0, 4]}, 3]}
    maker = a_trace().with_process(41, rank=0)
    maker.with_metadata("chrome.distributedInfo", json.dumps(job))
    with_collective(maker, 1, 100, **{"Collective name": "allgather", "Process Group Name": "1"})

    assert only(maker).groups == (Group("1", "dp", 2, (0, 4)),)


@pytest.mark.parametrize("text", ["", "[", "7", '{"pg_config": 3}', '{"pg_config": [{}]}'])
def test_a_list_of_groups_that_is_none_is_passed_over(text: str) -> None:
    maker = a_trace().with_process(41, rank=0).with_metadata("chrome.distributedInfo", text)

    assert only(maker.with_kernel("gemm", 0, 1)).groups == ()


@pytest.mark.parametrize(
    ("name", "label", "phase"),
    [
        ("ProfilerStep#12", 12, ""),
        ("train iteration 3", 3, ""),
        ("step", UNKNOWN, ""),
        ("execute_context_2(100)_generation_0(0)", UNKNOWN, "prefill"),
        ("execute_context_0(0)_generation_8(8)", UNKNOWN, "decode"),
        ("execute_context_1(9)_generation_8(8)", UNKNOWN, "mixed"),
        ("step[DECODE bs=4]", UNKNOWN, "decode"),
    ],
)
def test_steps_are_numbered_and_named_by_their_markers(name: str, label: int, phase: str) -> None:
    maker = a_trace().with_process(41, rank=0)
    maker.with_marker(name, 0, 50).with_marker("step 99", 60, 90)
    digest = only(maker.with_kernel("gemm", 10, 20).with_kernel("gemm", 65, 70))

    assert digest.steps.label.tolist() == [label, 99]
    assert digest.phases == ((phase,) if phase else ())
    assert digest.steps.phase.tolist() == [0 if phase else UNKNOWN, UNKNOWN]
    assert digest.steps_told_by == "markers matching steps"


def test_a_number_of_a_chosen_marker_is_its_last() -> None:
    maker = a_trace().with_process(41, rank=0).with_marker("layer2 round 17 end", 0, 50)
    digest = only(maker.with_kernel("gemm", 10, 20), DigestOptions(step_marker="round"))

    assert digest.steps.label.tolist() == [17]


def test_the_host_is_late_until_the_launch_of_the_next_op_is_over() -> None:
    maker = a_trace().with_process(41, rank=0)
    maker.with_call("hipLaunchKernel", 0, 5).with_call("hipLaunchKernel", 30, 34)
    maker.with_call("hipLaunchKernel", 35, 200)
    maker.with_kernel("gemm", 10, 20).with_kernel("gemm", 50, 60)
    maker.with_kernel(ALL_REDUCE, 70, 80).with_kernel("gemm", 90, 95)
    maker.with_link(1, 1).with_link(2, 2).with_link(3, 3)
    maker.with_marker("step 1", 0, 1000)
    digest = only(maker, DigestOptions(step_marker="step"))

    # From 20 to the end of the launch at 34; from 60 all of the gap, in which the call still runs.
    assert digest.collectives.idle_before_ns.tolist() == [40]
    assert digest.collectives.host_late_ns.tolist() == [14 + 10]
    assert digest.steps.host_late_ns.tolist() == [24]


def test_idle_time_without_known_launches_is_nobodys() -> None:
    maker = a_trace().with_process(41, rank=0).with_call("hipLaunchKernel", 0, 5)
    maker.with_kernel("gemm", 10, 20).with_kernel(ALL_REDUCE, 70, 80).with_link(1, 1)

    assert only(maker).collectives.host_late_ns.tolist() == [UNKNOWN]


def test_kernels_of_experts_are_added_up_by_step() -> None:
    maker = a_trace().with_process(41, rank=0)
    maker.with_marker("step 1", 0, 50).with_marker("step 2", 60, 90)
    maker.with_kernel("fused_moe_kernel", 0, 10).with_kernel("gemm", 10, 20)
    maker.with_kernel("fused_moe_kernel", 20, 25).with_kernel("fused_moe_kernel", 60, 63)

    assert only(maker).steps.moe_ns.tolist() == [15, 3]


def test_the_kernels_with_most_time_are_kept() -> None:
    maker = a_trace().with_process(41, rank=0)
    for number in range(5):
        maker.with_kernel(f"k{number}", 100 * number, 100 * number + number)
    kept = only(maker, DigestOptions(kernel_count=2)).kernels

    assert [(kernel.name, kernel.total_ns) for kernel in kept] == [("k4", 4), ("k3", 3)]
    assert only(maker, DigestOptions(kernel_count=0)).kernels == ()


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ((256, 2, 3), 1536),
        ((256, -1, -1), 256),
        ((-1, 4, 4), UNKNOWN),
        ((0, 1, 1), UNKNOWN),
        ((1 << 39, 2, 1), 1 << 40),
        ((1 << 39, 2, 2), UNKNOWN),
        ((1 << 62, 1 << 62, 4), UNKNOWN),
    ],
)
def test_launch_sizes(grid: tuple[int, int, int], expected: int) -> None:
    x, y, z = grid
    maker = a_trace().with_process(41, rank=0)
    maker.with_kernel("gemm", 0, 1, grid_x=x, grid_y=y, grid_z=z)

    assert [kernel.work_items for kernel in only(maker).kernels] == [expected]


def test_means_of_what_was_sampled_on_the_rank_s_gpu() -> None:
    maker = a_trace().with_process(41, rank=0).with_kernel("gemm", 0, 1, gpu=1)
    for gpu, text in ((1, "1900"), (1, "2100"), (0, "700"), (1, "nan"), (1, "fast"), (1, "1e300")):
        maker.builder.add_row(
            MONITORS, device_type="gpu", device=gpu, quantity="sclk", value=text, start_ns=0
        )

    assert only(maker).monitors == (("sclk", 2000.0),)


def test_what_is_missing_is_counted() -> None:
    maker = a_trace().with_process(41, rank=0).with_process(42, rank=1)
    maker.with_kernel("a", 0, 1).with_kernel("b", 0, 1, process=1, gpu=1)
    maker.with_coverage(10, 5, process=0, skipped=2, lost=3)
    maker.with_coverage(10, 9, process=1, skipped=-1, lost=1)

    assert [digest.lost_ops for digest in digests_of(maker.build())] == [5, 1]


def test_what_made_room_as_asked_is_not_lost() -> None:
    maker = a_trace().with_process(41, rank=0).with_process(42, rank=1).with_process(43, rank=2)
    for process in range(3):
        maker.with_kernel("a", 0, 1, process=process, gpu=process)
    maker.with_coverage(99, 1, process=0, skipped=40, reason=OLDER_THAN_KEPT["--max-size"])
    maker.with_coverage(0, 0, process=0, skipped=51, reason=OLDER_THAN_KEPT["--last"])
    maker.with_coverage(0, 0, process=0, lost=7, reason="lost because the buffers were full")
    maker.with_coverage(9, 1, process=1, skipped=8, reason="while recording was paused")
    maker.with_coverage(9, 1, process=2, skipped=8, reason=OLDER_THAN_KEPT["--last"])

    digests = digests_of(maker.build())

    assert [(digest.older_ops, digest.lost_ops) for digest in digests] == [(91, 7), (0, 8), (8, 0)]


def test_a_part_of_a_trace_has_a_digest_as_well() -> None:
    maker = a_trace().with_process(41, rank=0).with_kernel("a", 0, 10, grid_x=64)
    maker.with_kernel("b", 20, 50, gpu=1, grid_x=128).with_kernel("b", 60, 70, gpu=1, grid_x=256)
    (digest,) = digests_of(select(maker.build(), Selection(gpus=(1,))))

    assert (digest.op_count, digest.first_ns, digest.last_ns) == (2, 20, 70)
    assert [kernel.work_items for kernel in digest.kernels] == [384]


def test_a_sampled_trace_says_so() -> None:
    maker = a_trace().with_process(41, rank=0).with_kernel("a", 10, 20).with_slice(0, 100)
    digest = only(maker)

    assert digest.is_sampled
    assert "only slices of the run were recorded" in digest.notes[-1]


def test_a_clock_is_named_only_by_host_and_boot() -> None:
    maker = a_trace().with_process(41, rank=0, host="node1").with_kernel("a", 10, 20)

    assert only(maker).clock == ""
    assert only(maker.with_metadata("boot_id", "b-1")).clock == "node1 b-1"
