"""Kinds and classes of ops from the codes of their types and names."""

from __future__ import annotations

import numpy as np

from tests.builders import a_trace
from wavescope.model.op_kinds import OpClass, OpKind, op_classes, op_kinds
from wavescope.model.strings import StringTable

STRINGS = StringTable(["KernelExecution", "CopyHostToDevice", "gemm", "ncclDevKernel_AllReduce"])
KERNEL, COPY, GEMM, NCCL, UNKNOWN = 0, 1, 2, 3, -1


def codes(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def test_kinds_of_one_and_of_several_types() -> None:
    assert op_kinds(STRINGS, codes(KERNEL, KERNEL)).tolist() == [OpKind.KERNEL] * 2
    assert op_kinds(STRINGS, codes(COPY, UNKNOWN, KERNEL)).tolist() == [
        OpKind.COPY,
        OpKind.OTHER,
        OpKind.KERNEL,
    ]
    assert op_kinds(STRINGS, codes()).tolist() == []


def test_the_run_of_a_graph_is_compute_and_no_kernel() -> None:
    strings = StringTable(["GraphExecution", "graph of nccl", "MyGraphExecutionTask"])

    assert op_kinds(strings, codes(0, 2)).tolist() == [OpKind.GRAPH_RUN, OpKind.OTHER]
    assert op_classes(strings, codes(0), codes(1)).tolist() == [OpClass.COMPUTE]


def test_only_kernels_communicate() -> None:
    types = codes(KERNEL, COPY, KERNEL, UNKNOWN)

    assert op_classes(STRINGS, types, codes(NCCL, NCCL, GEMM, NCCL)).tolist() == [
        OpClass.COMMUNICATION,
        OpClass.COPY,
        OpClass.COMPUTE,
        OpClass.COMPUTE,
    ]


def test_without_collectives_the_type_decides() -> None:
    assert op_classes(STRINGS, codes(KERNEL, KERNEL), codes(GEMM, UNKNOWN)).tolist() == [0, 0]
    assert op_classes(STRINGS, codes(COPY, KERNEL), codes(GEMM, GEMM)).tolist() == [2, 0]


def test_a_table_counts_its_codes_once() -> None:
    ops = a_trace().with_kernel("a", 0, 1).with_kernel("b", 1, 2).with_kernel("a", 2, 3).build().ops

    counts = ops.code_counts("name")

    assert [ops.string_table[code] for code in counts.codes.tolist()] == ["a", "b"]
    assert counts.counts.tolist() == [2, 1]
    assert ops.code_counts("name") is counts
    assert ops.take(np.array([1])).code_counts("name").counts.tolist() == [1]
