"""Generated files and folders under the names that examples of commands use."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from pathlib import Path

import wavescope
from tests.builders import TraceMaker, a_trace
from tests.capture_folders import a_capture, step
from tests.counter_json import write_counter_json
from tests.counters_builder import a_workload
from wavescope.formats.wavescope.writing import write_trace

TRACES = (
    *("trace.db", "before.db", "after.db", "old.db", "new.db", "a.db", "b.db", "c.db", "huge.db"),
    *("old1.db", "old2.db", "old3.db", "new1.db", "new2.db", "new3.db", "rank0.db", "rank1.db"),
    *("vllm.db", "llama.db", "qwen.db", "glm.db", "rank_0.db", "rank_1.db"),
    *("trace.json.gz", "decode.json.gz", "capture.json.gz", "mi300x.json.gz", "h100.json.gz"),
    *("old.json.gz", "new.json.gz"),
    *("profile.pt.trace.json.gz", "sglang_extend.json.gz", "run.rpd"),
    *("mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",),
    *("h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",),
    *("run/rank_0.json.gz", "run/rank_1.json.gz", "old/rank0.json.gz", "old/rank1.json.gz"),
    *("new/rank0.json.gz", "new/rank1.json.gz"),
)
CAPTURES = (
    *("ui_output_agent_1_dispatch_3", "DIR", "A", "B", "before", "after"),
    *("kernel_trace_output/ui_output_agent_1_dispatch_3", "before/ui_output_agent_1_dispatch_3"),
    "after/ui_output_agent_1_dispatch_3",
)
WORKLOADS = (
    *("workloads/vcopy/MI200", "workloads/vcopy/MI300X_A1", "workloads/gemm/MI300X"),
    *("DIR", "before", "after"),
)
KERNELS = ("gemm_f16", "attention_decode", "rms_norm", "elementwise_add")
INPUTS = json.dumps({"Input Dims": [[4, 8], [8, 16]], "Input type": ["float", "float"]})
GROUPS = '[[rule]]\nmatch = "gemm"\nname = "product"\n'
OWN_METRICS = """title = "Mine"

[metric.own_waves]
name = "Own waves"
unit = "wave"
value = "SQ_WAVES"
meaning = "How many waves there were."
"""
COUNTED = {
    "l2": {"TCC_HIT_sum": 17, "TCC_MISS_sum": 983},
    "ea": {"TCC_EA0_RDREQ_sum": 22500, "TCC_EA0_RDREQ_32B_sum": 0},
}
COUNTER_HEAD = "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"


def counter_file(*parts: str) -> str:
    """A CSV of the counters of some parts, for four dispatches of a kernel."""
    rows = [
        f"{dispatch},pa_decode_attention(float*),{name},{value},{dispatch * 2000},{dispatch * 2000 + 1000}"
        for dispatch in range(1, 5)
        for part in parts
        for name, value in COUNTED[part].items()
    ]
    return COUNTER_HEAD + "\n".join(rows) + "\n"


def a_serving_run() -> TraceMaker:
    """A prompt and then tokens, marked as such, on one GPU, with calls and links."""
    made = a_trace().with_process(100, rank=0).with_agent(0, chip="gfx942", cu_count=304)
    made.with_marker("prefill", 0, 400_000).with_marker("decode", 400_000, 3_000_000)
    made.with_call("train.py(3): main", 50_000, 2_900_000, category="python_function")
    made.with_call("nn.Module: Linear_0", 60_000, 2_800_000, category="python_function")
    made.with_call("aten::mm", 70_000, 2_700_000, category="cpu_op", args=INPUTS)
    for number in range(24):
        start = 100_000 * (number + 1)
        for place, name in enumerate(KERNELS):
            begin = start + 20_000 * place
            made.with_call("hipLaunchKernel", begin - 9_000, begin - 5_000, category="cuda_runtime")
            made.with_kernel(name, begin, begin + 15_000, grid_x=1024, workgroup_x=256)
            made.with_link(4 * number + place + 4, 4 * number + place + 1)
    return made.with_copy(2_600_000, 2_650_000, size_bytes=1 << 20)


def write_kineto(path: Path) -> Path:
    """What PyTorch's profiler writes: a module with an operator that launches kernels, in steps."""

    def event(
        kind: str, name: str, start_us: float, end_us: float, **args: object
    ) -> dict[str, object]:
        gpu = kind == "kernel"
        where = {"pid": 0, "tid": 7} if gpu else {"pid": 900, "tid": 901}
        times = {"ts": start_us, "dur": end_us - start_us}
        return {"ph": "X", "cat": kind, "name": name, **where, **times, "args": args}

    events = [
        event("user_annotation", "prefill", 0, 400),
        event("user_annotation", "decode", 400, 3_000),
        event("python_function", "train.py(3): main", 50, 2_900),
        event("python_function", "nn.Module: Linear_0", 60, 2_800),
    ]
    for number in range(96):
        start, name = 100 + 25 * number, KERNELS[number % len(KERNELS)]
        launched, ran = {"correlation": number + 1}, {"device": 0, "stream": 7}
        events += [
            event("cpu_op", "aten::mm", start, start + 20, **json.loads(INPUTS)),
            event("cuda_runtime", "hipLaunchKernel", start + 1, start + 5, **launched),
            event("kernel", name, start + 8, start + 23, **launched, **ran),
        ]
    with gzip.open(path, "wt") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    return path


def write_traces(folder: Path) -> None:
    """The same small trace under every name, in the format that the name says."""
    write_trace([a_serving_run().builder], folder / "first.db")
    made = {".db": folder / "first.db", ".json.gz": write_kineto(folder / "first.json.gz")}
    for name in TRACES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        suffix = name.partition(".json.gz")[1] or path.suffix
        if suffix in made:
            shutil.copy(made[suffix], path)
        else:
            made[suffix] = wavescope.convert(folder / "first.db", path)
    write_counter_json(folder / "out_results.json")
    (folder / "groups.toml").write_text(GROUPS)
    for name in ("v1.json", "v2.json"):
        (folder / name).write_text("{}")


def write_ranks(folder: Path) -> None:
    """A trace for each rank, whose numbers are in the names of folders and files."""
    for rank in range(2):
        path = folder / "run" / "node1" / f"gpu{rank}.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_trace([a_serving_run().builder], path)


def write_captures(folder: Path) -> None:
    """The same capture of a kernel under every name, and an archive of it."""
    capture = a_capture(demangled="pa_decode_attention(float*)").with_code(
        "s_load_dwordx2 s[0:1], s[2:3], 0x0", "s_endpgm"
    )
    capture.with_wave([step(0, stall=40), step(1)])
    made = capture.write(folder / "made")
    for name in CAPTURES:
        if not (folder / name).exists():
            shutil.copytree(made, folder / name)
    with zipfile.ZipFile(folder / "captures.zip", "w") as archive:
        for path in made.rglob("*"):
            archive.write(path, Path("capture") / path.relative_to(made))
    (folder / "out_counter_collection.csv").write_text(counter_file("l2", "ea"))


def write_workloads(folder: Path) -> None:
    """The same counters under every name, and loose files of counters."""
    for name in WORKLOADS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        maker = a_workload(folder / name)
        for _ in range(4):
            maker = maker.with_dispatch("vecCopy", 1_000, SQ_WAVES=64, SQ_INSTS_VALU=640)
        maker.write()
    for name in ("out_counter_collection.csv", "out.csv", "pmc_perf.csv"):
        (folder / name).write_text(counter_file("l2", "ea"))
    for part in COUNTED:
        (folder / f"{part}.csv").write_text(counter_file(part))
        (folder / f"{part}_counter_collection.csv").write_text(counter_file(part))
    (folder / "mine.toml").write_text(OWN_METRICS)
