"""Collectives by kind, group, type and size: figures worked out by hand."""

from __future__ import annotations

import json

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.collectives import collectives_result
from wavescope.model.result import Value
from wavescope.model.selection import Selection, select

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(ncclDevKernelArgsStorage<4096ul>)"


def a_record(**values: object) -> str:
    usual: dict[str, object] = {
        "Collective name": "allreduce",
        "In msg nelems": 1_000_000,
        "Out msg nelems": 1_000_000,
        "Group size": 8,
        "dtype": "BFloat16",
        "In split size": "[]",
        "Out split size": "[]",
        "Process Group Name": "3",
        "Process Group Description": "tensor_parallel",
        "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]",
    }
    return json.dumps(usual | values)


class Collectives:
    """A trace of collectives, each recorded around its launch."""

    def __init__(self) -> None:
        self.maker: TraceMaker = a_trace()
        self._calls = self._ops = 0

    def ran(
        self, start: int, end: int, record: str, kernels: int = 1, name: str = ALL_REDUCE
    ) -> None:
        at = 100 * self._calls
        self.maker.with_call("record_param_comms", at, at + 90, category="cpu_op", args=record)
        self._calls += 1
        record_call = self._calls
        for number in range(kernels):
            self.maker.with_call("hipExtLaunchKernel", at + 10 + number, at + 11 + number)
            self._calls += 1
            self._ops += 1
            self.maker.with_kernel(name, start, end, queue=1)
            self.maker.with_link(self._calls, self._ops)
        assert record_call < self._calls

    def rows(self) -> list[dict[str, Value]]:
        return collectives_result(self.maker.build()).table("collectives").records()


def test_an_all_reduce_of_eight_ranks() -> None:
    made = Collectives()
    for start, duration in ((0, 40_000), (100_000, 100_000), (300_000, 80_000)):
        made.ran(start, start + duration, a_record())

    (row,) = made.rows()

    assert row == {
        "collective": "allreduce",
        "group": "3 tensor_parallel",
        "group_size": 8,
        "dtype": "BFloat16",
        "message_bytes": 2_000_000,
        "op_count": 3,
        "total_ns": 220_000,
        "median_ns": 80_000,
        "shortest_ns": 40_000,
        "algorithm_gb_per_s": 25.0,
        "bus_gb_per_s": 25.0 * 1.75,
        "best_algorithm_gb_per_s": 50.0,
        "best_bus_gb_per_s": 50.0 * 1.75,
        "exposed_ns": 220_000,
        "exposed_percent": 100.0,
        "kernel_variant": "TREE LL Sum",
    }


def test_sizes_types_and_groups_are_told_apart() -> None:
    made = Collectives()
    made.ran(0, 100, a_record())
    made.ran(200, 290, a_record(**{"In msg nelems": 5}))
    made.ran(300, 380, a_record(dtype="Float"))
    made.ran(400, 470, a_record(**{"Process Group Name": "4"}))
    made.ran(500, 560, a_record())

    found = [
        (row["group"], row["dtype"], row["message_bytes"], row["op_count"]) for row in made.rows()
    ]

    assert found == [
        ("3 tensor_parallel", "BFloat16", 2_000_000, 2),
        ("3 tensor_parallel", "BFloat16", 10, 1),
        ("3 tensor_parallel", "Float", 4_000_000, 1),
        ("4 tensor_parallel", "BFloat16", 2_000_000, 1),
    ]


def test_only_compute_of_the_same_gpu_hides_a_collective() -> None:
    made = Collectives()
    made.ran(100, 200, a_record())
    made.maker.with_kernel("gemm", 90, 120).with_kernel("gemm", 110, 130, queue=2)
    made.maker.with_kernel("gemm", 150, 160).with_kernel("gemm", 0, 1000, gpu=1)
    made.maker.with_copy(160, 190)

    (row,) = made.rows()

    assert (row["exposed_ns"], row["exposed_percent"]) == (60, 60.0)


def test_compute_that_a_filter_leaves_out_hides_all_the_same() -> None:
    made = Collectives()
    made.ran(100, 200, a_record())
    trace = made.maker.with_kernel("gemm", 90, 120).build()

    part = collectives_result(select(trace, Selection(kernel="nccl")))

    assert part.table("collectives").column("exposed_ns") == [80]


def test_what_is_recorded_for_several_kernels_tells_no_size() -> None:
    made = Collectives()
    made.ran(0, 100, a_record(), kernels=2)

    (row,) = made.rows()

    assert (row["collective"], row["op_count"], row["message_bytes"]) == ("all-reduce", 2, None)
    assert (row["bus_gb_per_s"], row["group"]) == (None, None)


def test_uneven_splits_have_an_algorithm_bandwidth_only() -> None:
    made = Collectives()
    record = a_record(**{"Collective name": "all_to_allv", "In split size": "[1, 2, 3, 4]"})
    made.ran(0, 1000, record, name="ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)")

    (row,) = made.rows()

    assert (row["algorithm_gb_per_s"], row["bus_gb_per_s"]) == (2000.0, None)


@pytest.mark.parametrize(
    ("kernel", "collective", "variant"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all-reduce", "RING LL Sum"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", "all-gather", "RING LL"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)", "reduce-scatter", "RING LL Sum"),
        ("ncclDevKernel_SendRecv(ncclDevComm*)", "send/recv", None),
        ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "(unknown)", None),
        ("void vllm::cross_device_reduce_1stage<__hip_bfloat16, 8>(x)", "all-reduce", None),
        ("void aiter::allreduce_fusion_kernel_2stage<x>", "all-reduce", None),
        ("reduce_scatter_cross_device_store<float>", "reduce-scatter", None),
    ],
)
def test_without_a_record_the_kernel_name_is_all_there_is(
    kernel: str, collective: str, variant: str | None
) -> None:
    result = collectives_result(a_trace().with_kernel(kernel, 0, 10).build())

    (row,) = result.table("collectives").records()

    assert (row["collective"], row["kernel_variant"]) == (collective, variant)
    assert (row["message_bytes"], row["bus_gb_per_s"], row["dtype"]) == (None, None, None)
    assert (result.facts["collective_ns"], result.facts["sized_collective_ns"]) == (10, 0)


@pytest.mark.parametrize(
    "record",
    [
        "",
        "{",
        json.dumps({"Collective name": 7}),
        a_record(**{"In msg nelems": "many", "Group size": -3, "Process Group Ranks": "[[["}),
        a_record(dtype=["Float"]),
        a_record(**{"In msg nelems": 1 << 70}),
        a_record(**{"In msg nelems": True}),
    ],
)
def test_hostile_records_tell_no_size(record: str) -> None:
    made = Collectives()
    made.ran(0, 100, record)

    (row,) = made.rows()

    assert (row["message_bytes"], row["algorithm_gb_per_s"], row["bus_gb_per_s"]) == (None,) * 3
    assert row["collective"] in ("allreduce", "all-reduce")


def test_a_trace_without_collectives_has_no_table() -> None:
    assert collectives_result(a_trace().with_kernel("gemm", 0, 1).build()).tables == []
