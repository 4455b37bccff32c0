"""Traces of operators that a graph captures and replays, for tests of their work."""

from __future__ import annotations

import json

from tests.unit.analyze.work.inputs import BF16, Given, arguments_json
from tests.unit.analyze.work.traces import US, OperatorTrace

GEMM, SILU = "Cijk_Ailk_Bljk_MT256x256", "silu"
LENGTH_NS = {GEMM: 200 * US, SILU: 50 * US}


def product(size: int) -> tuple[Given, Given]:
    return (BF16, (size, size)), (BF16, (size, size))


def captured(made: OperatorTrace, size: int = 4096) -> OperatorTrace:
    """A product and an activation, which run nothing while a stream captures."""
    made.call("hipStreamBeginCapture", made.host_ns, made.host_ns + 1, "cuda_runtime")
    for operator, kernel, given in (
        ("aten::mm", GEMM, product(size)),
        ("aten::silu", SILU, product(size)[:1]),
    ):
        made.host_ns += 100 * US
        at = made.host_ns
        made.call(operator, at, at + 90 * US, "cpu_op", arguments_json(*given))
        launch = json.dumps({"kernel": kernel})
        made.call("hipLaunchKernel", at + US, at + 2 * US, "cuda_runtime", launch)
    made.host_ns += 100 * US
    made.call("hipStreamEndCapture", made.host_ns, made.host_ns + 1, "cuda_runtime")
    return made


def replayed(made: OperatorTrace, times: int) -> OperatorTrace:
    """Graph launches inside an operator that has a formula of its own."""
    for _ in range(times):
        made.host_ns += 100 * US
        at = made.host_ns
        made.call("aten::mm", at, at + 90 * US, "cpu_op", arguments_json(*product(64)))
        launch = made.call("hipGraphLaunch", at + US, at + 2 * US, "cuda_runtime")
        for kernel, length_ns in LENGTH_NS.items():
            made.kernel(kernel, length_ns, launch)
    return made
