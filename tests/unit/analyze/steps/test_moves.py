"""Which ops copy and fill, and where to."""

from __future__ import annotations

from tests.builders import a_trace
from wavescope.analyze.steps.moves import Move, op_moves
from wavescope.model.op_kinds import COPY_TYPES, FILL_TYPE, KERNEL_TYPE


def test_types_and_kernels_of_the_runtime_tell_what_is_moved() -> None:
    expected = [
        ("", "CopyHostToDevice", Move.TO_GPU, False),
        ("", FILL_TYPE, Move.TO_GPU, False),
        ("Memset (Device)", "Memset", Move.TO_GPU, False),
        ("", "CopyDeviceToHost", Move.FROM_GPU, False),
        ("", "CopyDeviceToDevice", Move.OTHER, False),
        ("", "CopyPeerToPeer", Move.OTHER, False),
        ("__amd_rocclr_fillBufferAligned", KERNEL_TYPE, Move.TO_GPU, True),
        ("__amd_rocclr_copyBuffer", KERNEL_TYPE, Move.OTHER, True),
        ("__amd_rocclr_copyBufferRectAligned.kd", KERNEL_TYPE, Move.OTHER, True),
        ("__amd_rocclr_copyBuffer", "CopyHostToDevice", Move.TO_GPU, False),
        ("__amd_rocclr_streamOpsWait", KERNEL_TYPE, Move.NONE, False),
        ("my__amd_rocclr_copy", KERNEL_TYPE, Move.NONE, False),
        ("gemm", KERNEL_TYPE, Move.NONE, False),
        ("", "", Move.NONE, False),
    ]
    maker = a_trace()
    for place, (name, op_type, _, _) in enumerate(expected):
        maker.with_op(name, 10 * place, 10 * place + 5, type=op_type)

    moves = op_moves(maker.build())

    assert {op_type for _, op_type, _, _ in expected} >= {*COPY_TYPES} - {"CopyHostToHost"}
    assert moves.of_op.tolist() == [move for _, _, move, _ in expected]
    assert moves.by_kernel.tolist() == [by_kernel for _, _, _, by_kernel in expected]


def test_without_kernels_of_the_runtime_none_is_one() -> None:
    moves = op_moves(a_trace().with_kernel("gemm", 0, 1).with_copy(2, 3).build())

    assert moves.of_op.tolist() == [Move.NONE, Move.TO_GPU]
    assert moves.by_kernel.tolist() == [False, False]
