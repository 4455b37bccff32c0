"""Thread traces: CPU seconds and peak memory of `wavescope hotspots` beside plain Python reading.

    .venv/bin/python benchmarks/throughput/thread_trace.py              # 200 k rows, 2,000 waves
    .venv/bin/python benchmarks/throughput/thread_trace.py --waves 200  # quick

The capture is generated and agrees with itself: rows are the sums over the wave files. The plain
reading is what a script does: json.load, types and sums in loops, queues for the gfx9 counters; it
prints nothing, reads no source and checks nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from run import Cost, best, measure

LOOP = [
    "buffer_load_dwordx4 v[0:3], v4, s[8:11], 0 offen",
    "buffer_load_dwordx4 v[4:7], v5, s[8:11], 0 offen",
    "ds_read_b128 v[8:11], v12",
    "v_add_u32_e32 v4, s6, v4",
    "s_waitcnt lgkmcnt(0)",
    "v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[0:1], v[8:9], a[0:3]",
    "s_waitcnt vmcnt(1)",
    "v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[2:3], v[10:11], a[0:3]",
    "s_load_dwordx2 s[6:7], s[4:5], 0x10",
    "s_waitcnt vmcnt(0) lgkmcnt(0)",
    "ds_write_b128 v12, v[4:7]",
    "s_barrier",
    "v_fma_f32 v20, v21, v22, v23",
    "s_add_u32 s6, s6, 1",
    "s_cmp_lt_u32 s6, s7",
    "s_cbranch_scc1 65520",
]
CATEGORIES = [3, 3, 5, 6, 9, 6, 9, 6, 1, 9, 5, 9, 6, 2, 2, 7]
STALLS = [12, 30, 4, 0, 40, 8, 300, 8, 2, 80, 3, 60, 0, 0, 0, 1]
WAITS = {4: [[2]], 6: [[0]], 9: [[8], [1]]}
SOURCES = 4000


def generate(folder: Path, rows: int, waves: int, events: int) -> None:
    """Write a capture of so many rows, waves and events of each wave."""
    folder.mkdir(parents=True)
    sums = np.zeros((rows, 4), np.int64)
    blocks = (rows - 1) // len(LOOP)
    index: dict[str, dict[str, dict[str, dict[str, list[object]]]]] = {}
    occupancy: dict[str, list[list[int]]] = {}
    for wave in range(waves):
        engine, simd, slot = wave % 4, wave // 4 % 4, wave // 16 % 8
        first = 1 + len(LOOP) * (wave * 37 % max(blocks - events // len(LOOP), 1))
        text, begin, end = wave_text(wave, first, events, sums)
        number = wave // 128
        name = f"se{engine}_sm{simd}_sl{slot}_wv{number}.json"
        (folder / name).write_text(text)
        place = (
            index.setdefault(str(engine), {}).setdefault(str(simd), {}).setdefault(str(slot), {})
        )
        place[str(number)] = [name, begin, end]
        occupancy.setdefault(str(engine), []).extend(
            [[begin, 1, simd, slot, 1, 1], [end, 1, simd, slot, 0, 1]]
        )
    write_code(folder, rows, sums)
    (folder / "filenames.json").write_text(
        json.dumps({"gfxip": 9, "version": "3.0.0", "wave_filenames": index})
    )
    (folder / "occupancy.json").write_text(json.dumps({**occupancy, "dispatches": {"1": "gemm"}}))


def wave_text(wave: int, first: int, events: int, sums: np.ndarray) -> tuple[str, int, int]:
    """One wave file that runs `events` instructions from row `first` on, in a loop of 8 rounds."""
    length = len(LOOP)
    rounds = events // length
    parts, timeline, waitcnt = [], [], []
    time = begin = 1_000_000 + wave * 523
    for number in range(rounds):
        row = first + length * (number // 8)
        for at in range(length):
            stall = STALLS[at] and STALLS[at] + (wave * 7 + number * 13 + at) % 17
            parts.append(f"[{time},{CATEGORIES[at]},{stall},{stall + 4},{row + at}]")
            timeline.append(f"[{3 if stall else 2},{stall + 4}]")
            sums[row + at] += (1, stall + 4, stall, 0)
            time += stall + 4
        for at, lists in WAITS.items():
            for found in lists:
                producers = ",".join(f"[{row + each},0]" for each in found)
                waitcnt.append(f"[{row + at},[{producers}]]")
    text = (
        f'{{"duration":{time - begin},"name":"SE0","num_insts":{len(parts)},"num_stitched":{len(parts)},'
        f'"wave":{{"begin":{begin},"cu":1,"end":{time},"id":{wave // 128},"instructions":['
        + ",".join(parts)
        + f'],"simd":{wave // 4 % 4},"slot":{wave // 16 % 8},"timeline":['
        + ",".join(timeline)
        + '],"waitcnt":['
        + ",".join(waitcnt)
        + "]}}"
    )
    return text, begin, time


def write_code(folder: Path, rows: int, sums: np.ndarray) -> None:
    """code.json with the sums, and one source file."""
    code: list[list[object]] = [["; gemm", 0, 0, "gemm", 1, 4096, 0, 0, 0, 0]]
    for row in range(1, rows):
        line = 3 + row * 7 % SOURCES
        source = f"/src/kernels/gemm.py:{line}"
        text = LOOP[(row - 1) % len(LOOP)]
        code.append([text, 0, row, source, 1, 4096 + 8 * row, *map(int, sums[row])])
    header = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
    document = {"code": code, "header": header, "version": "3.0.0"}
    (folder / "code.json").write_text(json.dumps(document, separators=(",", ":")))
    (folder / "source_0_gemm.py").write_text(
        "@kernel\ndef gemm():\n" + "".join(f"    step({line})\n" for line in range(SOURCES + 3))
    )
    tree = {"/": {"work": {"kernels": {"gemm.py": "source_0_gemm.py"}}}}
    (folder / "snapshots.json").write_text(json.dumps(tree))


def plain_reading(folder: Path, *, with_waves: bool) -> None:
    """The usual way: json.load, a loop over rows, a loop over tuples with queues for the counters."""
    rows = json.loads((folder / "code.json").read_text())["code"]
    by_type: dict[str, int] = {}
    by_line: dict[str, list[int]] = {}
    for row in rows:
        kind = plain_type(row[0])
        by_type[kind] = by_type.get(kind, 0) + row[8]
        line = by_line.setdefault(row[3], [0, 0, 0, 0])
        for place in range(4):
            line[place] += row[6 + place]
    sorted(rows, key=lambda row: -row[8])
    if not with_waves:
        return
    charged: dict[int, int] = {}
    for path in sorted(folder.glob("se*_sm*_sl*_wv*.json")):
        plain_counters(json.loads(path.read_text())["wave"]["instructions"], rows, charged)


def plain_type(text: str) -> str:
    """A type by what the text contains."""
    for word, kind in (
        ("vmcnt", "VMEM-wait"),
        ("lgkmcnt", "LDS/SMEM-wait"),
        ("s_barrier", "barrier"),
        ("buffer_load", "VMEM-load"),
        ("global_load", "VMEM-load"),
        ("buffer_store", "VMEM-store"),
        ("ds_read", "LDS"),
        ("ds_write", "LDS"),
        ("s_load", "SMEM"),
        ("v_mfma", "MFMA"),
    ):
        if word in text.lower():
            return kind
    return "other"


def plain_counters(
    events: list[list[int]], rows: list[list[object]], charged: dict[int, int]
) -> None:
    """Charge each wait's stall to the last operation that it waited for (gfx9)."""
    queues: dict[str, list[int]] = {"vmcnt": [], "lgkmcnt": []}
    for _, category, stall, _, row in events:
        text = str(rows[row][0])
        if category == 9 and text.startswith("s_waitcnt"):
            for name, queue in queues.items():
                place = text.find(name)
                if place >= 0:
                    limit = int(text[place + len(name) + 1 : text.index(")", place)])
                    finished = queue[: max(len(queue) - limit, 0)]
                    if finished:
                        charged[finished[-1]] = charged.get(finished[-1], 0) + stall
                    del queue[: len(finished)]
        elif category in {3, 4}:
            queues["vmcnt"].append(row)
        elif category in {1, 5}:
            queues["lgkmcnt"].append(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--waves", type=int, default=2_000)
    parser.add_argument("--events", type=int, default=2_000, help="executed instructions of a wave")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plain", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--plain-waves", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--generate-only", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain:
        plain_reading(options.plain, with_waves=options.plain_waves)
    elif options.generate_only:
        generate(options.generate_only, options.rows, options.waves, options.events)
    else:
        with tempfile.TemporaryDirectory(prefix="wavescope-bench-") as name:
            report(Path(name) / "ui_output_agent_1_dispatch_1", options)


def report(folder: Path, options: argparse.Namespace) -> None:
    """Generate, measure in turns, print."""
    sizes = [f"--rows={options.rows}", f"--waves={options.waves}", f"--events={options.events}"]
    subprocess.run([sys.executable, __file__, *sizes, f"--generate-only={folder}"], check=True)
    waves = sum(path.stat().st_size for path in folder.glob("se*_sm*.json"))
    code = (folder / "code.json").stat().st_size
    print(
        f"{options.rows:,} rows ({code / 1e6:.0f} MB), {options.waves:,} wave files ({waves / 1e6:.0f} MB)\n"
    )
    wavescope = [sys.executable, "-m", "wavescope"]
    command = [*wavescope, "hotspots", "-q", str(folder)]
    page = [*wavescope, "report-att", "-q", "--force", str(folder)]
    plain = [sys.executable, __file__, f"--plain={folder}"]
    jobs = {
        "rows": ([*command, "--no-waves"], plain),
        "rows, waves, wait counters": (command, [*plain, "--plain-waves"]),
        "the same and --timeline": ([*command, "--timeline"], None),
        "the same and --plan": ([*command, "--plan"], None),
        "report-att": ([*page, "-o", str(folder.parent / "page.html")], None),
        "diff-att of it and itself": (
            [*wavescope, "diff-att", "-q", str(folder), str(folder)],
            None,
        ),
    }
    costs: dict[str, tuple[list[Cost], list[Cost]]] = {job: ([], []) for job in jobs}
    for _ in range(options.rounds):
        for job, (ours, usual) in jobs.items():
            costs[job][0].append(measure(ours))
            if usual is not None:
                costs[job][1].append(measure(usual))
    print(f"{'job':<30}{'CPU s':>8}{'MB':>7}{'plain CPU s':>13}{'MB':>7}{'CPU ratio':>11}")
    for job, (ours_all, usual_all) in costs.items():
        own = best(ours_all)
        line = f"{job:<30}{own.cpu_s:>8.2f}{own.peak_mb:>7.0f}"
        if usual_all:
            other = best(usual_all)
            line += f"{other.cpu_s:>13.2f}{other.peak_mb:>7.0f}{other.cpu_s / own.cpu_s:>10.1f}x"
        print(line)


if __name__ == "__main__":
    main()
