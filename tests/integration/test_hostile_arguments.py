"""Analyses of PyTorch traces whose arguments are not what they should be: no traceback, ever."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from wavescope.cli.main import main

COMMANDS = (
    ("summary", "--by", "operator"),
    ("summary", "--by", "shape"),
    ("summary", "--table", "gaps"),
    ("findings",),
    ("findings", "--kernel", "attn"),
    ("work",),
    ("phases",),
    ("phases", "--without-markers"),
    ("steps",),
)
OPERATORS = (
    "aten::mm",
    "aten::bmm",
    "aten::convolution",
    "aten::convolution_backward",
    "aten::scaled_dot_product_attention",
    "flash_attn::_flash_attn_forward",
    "aten::native_layer_norm",
    "aten::_softmax",
    "aten::mul",
    "vllm::moe_forward",
    "aten::embedding",
    "_C::cutlass_scaled_mm",
    "record_param_comms",
    "x" * 300,
    "",
)
KERNELS = (
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "Cijk_Alik_Bljk_HHS_MT64x64x32",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>()",
    "attn_fwd",
    "softmax",
    "argmax",
    "reshape_and_cache_kernel",
    "k<<<<",
    "_Z",
    "",
    "\n\x1b[31m",
)
CALLS = (
    "cudaLaunchKernel",
    "hipGraphLaunch",
    "cudaMemcpyAsync",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
    "hipMemcpyWithStream",
)
RANGES = (
    "nn.Module: Linear_0",
    "scipy/ndimage/_x.py(1): zoom",
    "ProfilerStep#1",
    "execute_context_3(8)",
)
SCALARS = (
    0,
    -1,
    2**31,
    2**63,
    -(2**63),
    10**40,
    1.5,
    -0.0,
    1e308,
    "",
    "Float",
    "[1, 2]",
    "\0",
    None,
    True,
)


class Hostile:
    """Traces whose values are drawn from what nobody expects."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def trace(self) -> dict[str, Any]:
        """Operators, launches and kernels of some milliseconds."""
        choose, events, now = self._draw.choice, [], 1000.0
        for number in range(self._draw.randrange(1, 100)):
            now += self._draw.random() * choose((1, 50, 1000))
            events += self._operator(now) if self._maybe(0.8) else []
            events += self._launch(now, number) if self._maybe(0.8) else []
            events += self._kernel(now, number) if self._maybe(0.9) else []
        board = {"id": 0, "name": choose(("NVIDIA H200", "x", None)), "numSms": self._value()}
        return {
            "traceEvents": events,
            "deviceProperties": choose(([board], self._value())),
            "distributedInfo": self._value(),
        }

    def _operator(self, now: float) -> list[dict[str, Any]]:
        choose = self._draw.choice
        arguments = {
            "Input Dims": self._dims(),
            "Input Strides": self._dims(),
            "Input type": choose((["float", "c10::BFloat16", ""], self._value())),
            "Concrete Inputs": choose((["", "[1, 1]", "True"], self._value())),
            "Sequence number": self._value(),
        }
        if self._maybe(0.3):
            names = ("Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype")
            arguments |= {name: self._value() for name in names}
        category = choose(("cpu_op", "cpu_op", "user_annotation", "python_function"))
        name = choose(OPERATORS) if category == "cpu_op" else choose(RANGES)
        return [self._event(category, name, now, choose((5, 300)), arguments)]

    def _launch(self, now: float, number: int) -> list[dict[str, Any]]:
        choose = self._draw.choice
        arguments = {"correlation": choose((number, number, self._value()))}
        return [self._event("cuda_runtime", choose(CALLS), now + 1, choose((0, 1, 400)), arguments)]

    def _kernel(self, now: float, number: int) -> list[dict[str, Any]]:
        choose = self._draw.choice
        arguments = {
            "device": choose((0, 0, 0, 1, self._value())),
            "stream": choose((7, self._value())),
            "correlation": number,
            "grid": choose(([512, 2, 1], self._value())),
            "block": choose(([256, 1, 1], self._value())),
            "graph node id": self._value(),
        }
        category = choose(("kernel", "kernel", "kernel", "gpu_memcpy", "gpu_memset"))
        start, length = now + choose((-3, 2, 50)), choose((0, 2, 100, 1e6))
        return [self._event(category, choose(KERNELS), start, length, arguments)]

    def _event(
        self, category: str, name: str, start: float, length: float, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        thread = self._draw.choice((1, 2))
        fields = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread}
        return {**fields, "ts": start, "dur": length, "args": arguments}

    def _dims(self) -> Any:
        if self._maybe(0.3):
            return self._value()
        sizes = (0, 1, 2, 64, 4096, 10**20, -3, "x", None)
        return [
            [self._draw.choice(sizes) for _ in range(self._draw.randrange(5))]
            for _ in range(self._draw.randrange(6))
        ]

    def _value(self, depth: int = 0) -> Any:
        if depth < 3 and self._maybe(0.3):
            return [self._value(depth + 1) for _ in range(self._draw.randrange(4))]
        if depth < 3 and self._maybe(0.1):
            return {"a": self._value(depth + 1)}
        return self._draw.choice(SCALARS)

    def _maybe(self, chance: float) -> bool:
        return self._draw.random() < chance


@pytest.mark.parametrize("seed", range(8))
def test_any_arguments_are_survived(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(Hostile(seed).trace()))
    for command, *flags in COMMANDS:
        code = main([command, str(path), *flags])
        assert code in {0, 2, 3}, (command, flags, capsys.readouterr().err)
    assert main(["report", str(path), "-o", str(tmp_path / "page.html"), "-q"]) in {0, 3}
