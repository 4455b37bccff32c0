"""Small inputs of every kind, made by the writers and builders of the tests when fuzzing begins."""

from __future__ import annotations

import io
import json
import tarfile
import urllib.parse
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.command_lines import options_of_commands
from fuzz.viewer_connection import TOKEN
from tests.builders import a_trace
from tests.capture_folders import a_capture, step
from tests.chunks import a_cuda_process, a_process, with_cuda_calls
from tests.counters_builder import a_workload
from tests.formats.test_damaged_sqlite import rocpd_file, rtl_file
from tests.formats.test_loose_counter_files import LONG, WIDE
from tests.formats.test_rpd import VERSION_3, two_sessions
from tests.formats.test_rpd import make_file as make_rpd
from tests.formats.test_xplane import gpu_plane, host_plane
from tests.rank_jobs.simulate import Topology, simulated
from tests.sample_files import FIRST_NS, SAMPLES, rich_trace, write_as
from tests.xplane_files import a_space
from wavescope.analyze.ranks.digest import DigestOptions
from wavescope.api.rank_digests import digest_task, digests_of_file

Make = Callable[[Path], Path]
"""Writes a sample into a folder; the file or folder to give to a command."""


def written(name: str, content: bytes | str) -> Make:
    """A sample of one file with this content."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def in_folder(*makers: Make) -> Make:
    """A sample that is a folder of others."""

    def make(folder: Path) -> Path:
        for maker in makers:
            maker(folder)
        return folder

    return make


def _kineto() -> str:
    """What PyTorch's profiler writes: operators with shapes, launches, kernels, a step."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 9, "tid": 9, "ts": 1, "dur": 900},
    ]  # fmt: skip
    for number in range(8):
        at, host = 10 + 100 * number, {"pid": 9, "tid": 9}
        shapes = {"Input Dims": [[64, 128], [128, 32]], "Input type": ["float", "float"]}
        events += [
            {"ph": "X", "cat": "python_function", "name": "train.py(7): step", "ts": at - 2, "dur": 80, "args": {"Python id": number, "Python parent id": None}, **host},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": at, "dur": 40, "args": {"External id": number, **shapes, "Call stack": "train.py(7): step"}, **host},
            {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "ts": at + 5, "dur": 5, "args": {"correlation": number, "External id": number}, **host},
            {"ph": "s", "id": number, "pid": 9, "tid": 9, "ts": at + 5, "cat": "ac2g", "name": "ac2g"},
            {"ph": "f", "id": number, "pid": 0, "tid": 7, "ts": at + 30, "cat": "ac2g", "name": "ac2g", "bp": "e"},
            {"ph": "X", "cat": "kernel", "name": "Cijk_Ailk_Bljk_S_MT64x64", "pid": 0, "tid": 7, "ts": at + 30.5, "dur": 20.125, "args": {"correlation": number, "External id": number, "device": 0, "stream": 7, "grid": [4, 1, 1], "block": [256, 1, 1]}},
            {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32", "pid": 0, "tid": 8, "ts": at + 52, "dur": 20, "args": {"device": 0, "stream": 8, "Collective name": "allreduce", "In msg nelems": 1024, "dtype": "Float", "Group size": 8, "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}},
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": at + 75, "dur": 3, "args": {"device": 0, "stream": 7, "bytes": 4096}},
        ]  # fmt: skip
    about = {
        "schemaVersion": 1,
        "deviceProperties": [
            {"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 1 << 37, "numSms": 304}
        ],
        "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2},
        "traceName": "t.json",
    }
    return json.dumps({**about, "traceEvents": events})


def _csv_folder(folder: Path) -> Path:
    """What rocprofv3 writes for one process: a file for each kind of record."""
    SAMPLES["rocprofv3-csv"](folder)
    times = f"{FIRST_NS},{FIRST_NS + 500}"
    files = {
        "run_hip_api_trace.csv": '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        + "".join(f'"HIP_RUNTIME_API","hipLaunchKernel",7,7,{i},{times}\n' for i in range(9)),
        "run_memory_copy_trace.csv": '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        f'"MEMORY_COPY","HOST_TO_DEVICE",0,1,3,{times}\n',
        "run_marker_api_trace.csv": '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        f'"MARKER_CORE_API","decode",7,7,1,{times}\n',
        "run_agent_info.csv": '"Node_Id","Logical_Node_Id","Agent_Type","Cpu_Cores_Count","Simd_Count","Cu_Count","Name","Product_Name"\n'
        '0,0,"CPU",64,0,0,"EPYC","EPYC"\n1,1,"GPU",0,416,104,"gfx90a","MI210"\n',
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def _session(folder: Path) -> Path:
    """Records of a ROCm process."""
    process = a_process(folder).with_agent(0).with_agent(1)
    process.with_fact("kernel", object=0x100, name="_Z4gemmPfi.kd", vgprs=64)
    process.with_fact("queue", queue=0, gpu=0, name="queue 0")
    for number in range(6):
        at = 2_000 + 100 * number
        process.with_op(start=at, end=at + 50, kernel=0x100, correlation=number, marker=1)
        process.with_copy(at, at + 9, 4096, 0, 1)
        process.with_call(1, at - 50, at, correlation=number, arguments=(1, 2, 3))
    process.with_marker("decode", 1_900, 3_000, id=1).with_counter(seen=12, timed=11, skipped=(1,))
    return process.with_slice(1_500, 2_500).write()


def _cuda_session(folder: Path) -> Path:
    return with_cuda_calls(a_cuda_process(folder)).with_counter(seen=4, timed=4).write()


def _capture(folder: Path) -> Path:
    builder = (
        a_capture()
        .with_source("/k.py", "@kernel\ndef k():\n    load()\n    add()\n")
        .with_code(
            ("s_load_dword s0, s[4:5], 0x0", "/k.py:3"),
            ("s_waitcnt lgkmcnt(0)", "/k.py:3"),
            ("global_load_dword v0, v[0:1], off", "/k.py:3"),
            ("ds_read_b128 v[0:3], v4", "/k.py:3"),
            ("s_waitcnt vmcnt(0)", "/k.py:4"),
            ("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", "/k.py:4"),
            ("s_barrier", "/k.py:4"),
            ("s_endpgm", ""),
        )
        .with_kernel_row(VGPR_Count=32, SGPR_Count=16, LDS_Block_Size=1024)
        .with_agent(Name="gfx90a", Cu_Count=104)
        .with_clock(1700)
    )
    for slot in range(3):
        steps = [step(1), step(2, stall=40), step(3), step(4), step(5, stall=300), step(6), step(7, stall=9), step(8)]  # fmt: skip
        builder.with_wave(steps, slot=slot, begin=10 * slot, workgroup=slot)
    builder.write(folder)
    return folder


def _packed(folder: Path, *, is_zip: bool) -> Path:
    parent = folder / "parent"
    _capture(parent)
    files = sorted(path for path in parent.rglob("*") if path.is_file())
    names = [(path, str(path.relative_to(parent))) for path in files]
    stream = io.BytesIO()
    if is_zip:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, name in names:
                archive.writestr(zipfile.ZipInfo(name), path.read_bytes())
    else:
        with tarfile.open(fileobj=stream, mode="w") as tar:
            for path, name in names:
                member = tarfile.TarInfo(name)
                member.size = path.stat().st_size
                tar.addfile(member, io.BytesIO(path.read_bytes()))
    target = folder / ("capture.zip" if is_zip else "capture.tar")
    target.write_bytes(stream.getvalue())
    return target


def _workload(folder: Path, *, is_long: bool = False) -> Path:
    maker = a_workload(folder)
    for number in range(4):
        maker.with_dispatch(
            f"gemm_{number % 2}",
            1_000 + number,
            SQ_WAVES=64,
            SQ_BUSY_CYCLES=5_000,
            GRBM_GUI_ACTIVE=6_000,
            SQ_INSTS_VALU=900,
            TCC_HIT_sum=30,
            TCC_MISS_sum=70,
            TCC_HIT__0=10,
            TCC_EA_RDREQ_sum=5,
            TCC_EA_RDREQ_32B_sum=1,
        )
    made = maker.write_long() if is_long else maker.write()
    (made / "timestamps.csv").write_text(
        "Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp\n0,0,gemm_0,1000,2000\n"
    )
    (made / "roofline.csv").write_text(
        "device,HBMBw,L2Bw,L1Bw,LDSBw,FP32Flops,MFMAF16Flops\n0,1300,3000,6000,9000,20000,150000\n"
    )
    (made / "ps_file_pc_sampling_stochastic.csv").write_text(
        "Instruction,Instruction_Comment,Wave_Issued_Instruction,Stall_Reason\n"
        "s_waitcnt vmcnt(0),k.cpp:7,0,X_REASON_WAITCNT\nv_add_f32,k.cpp:8,1,\n"
    )
    return made


RULES = r"""
[[rule]]
match = '^gemm_(\w+)'
name = 'product \1'
category = 'gemm'
note = 'our \1[, tile \2]'

[[rule]]
match = 'nccl'
category = 'communication'
"""
PHASE_RULES = """
[[phase]]
match = '^gemm'
phase = "prefill"
weight = 1.0

[[phase]]
match = 'nccl'
phase = "communication"
weight = 0.5
"""
METRICS = """
title = "Mine"

[value]
requests = "TCC_HIT_sum + TCC_MISS_sum"

[metric.l2_requests_per_wave]
name = "L2 requests of a wave"
unit = "req/wave"
value = "requests / SQ_WAVES"
meaning = "How often a wave asks the L2."
high = "Data is not reused in a compute unit."
"""
NAMES = [
    "_Z4gemmPfi",
    "_ZN7rocprim6detail12reduce_kernelILb0EjfNS_4plusIfEEEEvPKT0_PT1_T2_.kd",
    "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SE_1LDSB0_APM1",
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)"
    ),
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "triton_poi_fused_add_mul_0d1d2de",
    "_ZN5aiter24mla_decode_fwd_kernelI14__hip_bfloat16Li16EEEvPKT_S3_S3_PfPS1_iii",
]
REQUESTS = [
    {"question": "traces"},
    {"question": "tiles", "rows": "0", "first": "0", "count": "2", "scale": "1000", "by": "category"},
    {"question": "names", "from": "0"},
    {"question": "colouring", "by": "category"},
    {"question": "details", "table": "ops", "row": "3"},
    {"question": "range", "start": "0", "end": "100000"},
    {"question": "search", "pattern": "gemm", "kinds": "7"},
    {"question": "search_next", "pattern": "gemm", "after": "5", "direction": "1", "table": "ops", "row": "0"},
    {"question": "flame", "start": "0", "end": "100000", "of": "gpu"},
    {"question": "flame_search", "pattern": "gemm", "start": "0", "end": "100000", "of": "host"},
    {"question": "findings"},
    {"question": "steps"},
    {"question": "kernels", "order": "total", "start": "0", "end": "90000"},
    {"question": "kernel", "name": "gemm_0", "bins": "20", "number": "0"},
    {"question": "alignments"},
    {"question": "differences", "by": "kernel"},
    {"question": "window", "start": "0", "end": "100000", "format": "chrome-json", "tables": "ops"},
]  # fmt: skip

STATEMENTS = (
    "SELECT * FROM top LIMIT 5",
    "SELECT gpuId, Busy FROM busy",
    "SELECT count(*), max(end), min(start) FROM rocpd_op WHERE gpuId = 0 GROUP BY queueId",
    (
        "SELECT s.string, o.end - o.start AS 'time' FROM rocpd_op AS o JOIN rocpd_string AS s "
        "ON s.id = o.description_id ORDER BY 2 DESC"
    ),
    "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')",
    "PRAGMA table_info(rocpd_op)",
)
_PAGE_REQUESTS = (
    f"GET /t/{TOKEN}/ HTTP/1.1\r\nHost: localhost:9\r\nSec-Fetch-Mode: navigate\r\n"
    "Sec-Fetch-Dest: document\r\nSec-Fetch-Site: cross-site\r\n\r\n".encode(),
    f"HEAD /t/{TOKEN}/static/view/page.js HTTP/1.1\r\nHost: [::1]:9\r\n\r\n".encode(),
)


def _digests(folder: Path) -> Path:
    trace = write_as(rich_trace(), folder / "trace.db")
    path = folder / "rank.digest"
    path.write_bytes(digests_of_file(str(trace), digest_task(DigestOptions()).options))
    trace.unlink()
    return path


def _job(folder: Path, topology: Topology, suffix: str) -> Path:
    """Files of four ranks on two hosts."""
    simulated(topology, seed=3, ranks=4, steps=4, gpus_per_host=2).write(folder, suffix)
    return folder


def _request(request: dict[str, str]) -> bytes:
    """A question to the viewer as a browser sends it."""
    query = urllib.parse.urlencode({k: v for k, v in request.items() if k != "question"})
    return b"\r\n".join(
        (
            f"GET /t/{TOKEN}/api/{request['question']}?{query} HTTP/1.1".encode(),
            b"Host: 127.0.0.1:9",
            b"Accept: */*",
            b"Sec-Fetch-Site: same-origin",
            b"",
            b"",
        )
    )


def _statement_request(statement: str) -> bytes:
    """A statement as the page posts it."""
    return b"\r\n".join(
        (
            f"POST /t/{TOKEN}/api/sql?trace=0 HTTP/1.1".encode(),
            b"Host: localhost:9",
            b"Origin: http://localhost:9",
            b"Content-Type: application/json",
            b"",
            json.dumps({"sql": statement}).encode(),
        )
    )


def _command_lines(folder: Path) -> Path:
    """What commands read, and a list of their options."""
    SAMPLES["wavescope"](folder)
    for name, make in (("capture", _capture), ("workload", _workload)):
        (folder / name).mkdir()
        make(folder / name)
    (folder / "words.json").write_text(options_of_commands(folder))
    return folder


def _result(folder: Path) -> Path:
    table = {
        "name": "kernels",
        "title": "Kernels",
        "columns": [
            {"name": "kernel", "title": "kernel", "unit": "text", "meaning": "name"},
            {"name": "total", "title": "total", "unit": "ns", "meaning": "time"},
        ],
        "rows": [["gemm", 5], ["add", None]],
    }
    finding = {"id": "x", "severity": "info", "title": "t", "evidence": "e", "suggestion": "s"}
    document = {
        "schema": "wavescope.result/1",
        "title": "Summary",
        "tables": [table],
        "findings": [finding],
        "facts": {"a": 1},
    }
    (folder / "result.json").write_text(json.dumps(document))
    return folder


SAMPLE_MAKERS: dict[str, tuple[Make, ...]] = {
    "wavescope": (SAMPLES["wavescope"], lambda f: write_as(a_trace(), f / "none.db")),
    "rocm-trace-lite": (lambda f: rtl_file(f / "rtl.db"),),
    "rocmProfileData": (
        SAMPLES["rpd"],
        lambda f: make_rpd(f / "v3.rpd", schema=VERSION_3, rows=two_sessions()),
    ),
    "rocpd": (lambda f: rocpd_file(f / "rocpd.db"),),
    "wavescope session": (_session, _cuda_session),
    "rocprofv3 CSV": (_csv_folder, SAMPLES["rocprofv3-csv"]),
    "rocprof timestamps": (
        written(
            "timestamps.csv",
            "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,"
            "Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID\n"
            + "".join(
                f"{i},0,0,7,7,64,64,0,gemm_{i},{100 * i},{100 * i + 50},0\n" for i in range(9)
            ),
        ),
    ),
    "rocprofv3 JSON": (SAMPLES["rocprofv3"],),
    "xplane": (written("host.xplane.pb", a_space(gpu_plane(), host_plane(), host="node1")),),
    "Perfetto": (SAMPLES["perfetto"],),
    "Chrome JSON": (SAMPLES["chrome"], SAMPLES["chrome-gz"], written("kineto.json", _kineto())),
    "captures": (_capture,),
    "capture archives": (
        lambda f: _packed(f, is_zip=True),
        lambda f: _packed(f, is_zip=False),
    ),
    "counter folders": (_workload, lambda f: _workload(f, is_long=True)),
    "counter files": (
        written("out_counter_collection.csv", LONG),
        written("wide_counter_collection.csv", WIDE),
    ),
    "rules": (in_folder(written("rules.toml", RULES), written("trace.json", _kineto())),),
    "phase rules": (
        in_folder(written("rules.toml", PHASE_RULES), written("trace.json", _kineto())),
    ),
    "own metrics": (in_folder(written("rules.toml", METRICS), _workload),),
    "stored results": (in_folder(_result, written("trace.json", _kineto())),),
    "kernel names": (written("names.json", json.dumps(NAMES)),),
    "rank digests": (_digests,),
    "ranks of a job": (
        lambda f: _job(f, Topology.DDP, "json.gz"),
        lambda f: _job(f, Topology.DECODE, "json"),
        lambda f: _job(f, Topology.PIPELINE, "db"),
        lambda f: _job(f, Topology.EXPERTS, "pftrace"),
    ),
    "viewer": tuple(
        in_folder(written("requests.json", json.dumps([request])), SAMPLES["wavescope"])
        for request in REQUESTS
    ),
    "viewer's connections": tuple(
        in_folder(written("requests.http", request), SAMPLES["wavescope"])
        for request in (
            *map(_request, REQUESTS),
            *map(_statement_request, STATEMENTS),
            *_PAGE_REQUESTS,
        )
    ),
    "command lines": (_command_lines,),
    "statements": tuple(
        in_folder(written("statement.sql", statement), SAMPLES["wavescope"])
        for statement in STATEMENTS
    ),
}
"""By reader: what writes its samples. The names of formats are those of formats/registry.py."""
