"""Writes a PyTorch profiler trace of any size: operators, launches, kernels and flows, as Kineto does."""

from __future__ import annotations

from pathlib import Path

_STEP = """\
  {{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 851, "tid": 851, "ts": {ts}.125, "dur": 21.730, "args": {{"External id": {i}, "Record function id": 0, "Concrete Inputs": ["", "", "", "1", "1"], "Input type": ["float", "float", "float", "Scalar", "Scalar"], "Input Strides": [[1], [4096, 1], [1, 4096], [], []], "Input Dims": [[4096], [32, 4096], [4096, 4096], [], []], "Ev Idx": {i}}}}},
  {{"ph": "X", "cat": "cuda_runtime", "name": "hipModuleLaunchKernel", "pid": 851, "tid": 851, "ts": {ts}.925, "dur": 5.190, "args": {{"cid": 60, "correlation": {i}, "External id": {i}}}}},
  {{"ph": "s", "id": {i}, "pid": 851, "tid": 851, "ts": {ts}.925, "cat": "ac2g", "name": "ac2g"}},
  {{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {gpu_ts}.561, "dur": 12.519, "args": {{"External id": {i}, "device": 0, "stream": 7, "correlation": {i}, "kind": "Dispatch Kernel", "grid": [128, 1, 1], "block": [256, 1, 1]}}}},
  {{"ph": "f", "id": {i}, "pid": 0, "tid": 7, "ts": {gpu_ts}.561, "cat": "ac2g", "name": "ac2g", "bp": "e"}},
"""
_NAMES = [
    "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT16x16x512_MI16x16x1_SN_LDSB1_AFC1_AFEM1",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, 1>",
    "triton_poi_fused_add_mul_silu_3",
]


def write_kineto_trace(path: Path, events: int) -> None:
    """Write about `events` events to `path`."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [\n')
        for index in range(events // 5):
            ts = 6_520_618_853_487 + index * 24
            name = _NAMES[index % len(_NAMES)]
            file.write(_STEP.format(ts=ts, gpu_ts=ts + 15, i=index + 1, name=name))
        file.write('  {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "",')
        file.write(f' "ts": {6_520_618_853_487 + events * 5}.000}}\n]}}\n')
