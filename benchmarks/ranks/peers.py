"""Other tools on the same Kineto files: CPU seconds, memory, and whom they call late.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install traceinsight "pandas<3"  # HTA
    python benchmarks/ranks/peers.py --hta /tmp/peers/bin/python
    python benchmarks/ranks/peers.py --hta /tmp/peers/bin/python --steps 400

8 ranks of a tensor parallel job (4 x 2) whose rank 5 is 20 % slower, gzipped as PyTorch writes them.
HTA is asked for what both answer: overlap of communication and compute of each rank, and stragglers
(its two candidates; it knows only the older names of NCCL's kernels, so the files have these).
AMD's TraceLens is not published as a package: the one of that name is another program.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.rank_jobs import Fault, FaultKind, Topology, simulated

SLOW_RANK = 5
_ASK_HTA = """
import json, sys, warnings
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
from hta.version import __version__
files = json.loads(sys.argv[1])
analysis = TraceAnalysis(trace_files={int(rank): path for rank, path in files.items()}, trace_dir="")
overlap = analysis.get_comm_comp_overlap(visualize=False)
try:
    late = str(analysis.get_potential_stragglers())
except Exception as error:
    late = f"{type(error).__name__}: {error}"
print(json.dumps({"version": __version__, "overlap": len(overlap), "late": late}))
"""


def main() -> None:
    options = _arguments()
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        job = simulated(
            Topology.TENSOR,
            [Fault(FaultKind.SLOW_COMPUTE, (SLOW_RANK,), size=0.2)],
            seed=1,
            ranks=8,
            steps=options.steps,
        )
        paths = job.write(Path(folder), "json.gz")
        for path in paths:
            data = gzip.decompress(path.read_bytes()).replace(b"ncclDevKernel_", b"ncclKernel_")
            path.write_bytes(gzip.compress(data, 1, mtime=0))
        ops = sum(len(trace.ops) for trace in job.traces)
        size = sum(path.stat().st_size for path in paths)
        print(f"8 files, {ops} ops, {size / 1e6:.1f} MB gzipped; rank {SLOW_RANK} is 20 % slower")
        print(f"{'tool':12}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}  who is late")
        command = [sys.executable, "-m", "wavescope", "ranks", folder, "--json"]
        _told("wavescope", command, _wavescope_words)
        if options.hta:
            files = json.dumps(dict(zip(job.numbers, map(str, paths), strict=True)))
            _told("HTA", [options.hta, "-c", _ASK_HTA, files], _hta_words)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--hta", help="a Python interpreter that has HTA")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--scratch", type=Path, help="where the temporary folder is made")
    return parser.parse_args()


def _told(name: str, command: list[str], words) -> None:
    """Run a tool in a process of its own between us and it, so that its memory is its own."""
    script = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([done.returncode, used.ru_maxrss, done.stdout.decode()]))"
    )
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, *command], check=True, stdout=subprocess.PIPE
    )
    wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    code, peak_kb, output = json.loads(done.stdout)
    said = words(output) if code == 0 else f"failed with exit code {code}"
    print(f"{name:12}{cpu_s:>8.1f}{wall_s:>8.1f}{peak_kb / 1024:>9.0f}  {said}", flush=True)


def _wavescope_words(output: str) -> str:
    document = json.loads(output)
    tables = document["tables"]
    tables = tables if isinstance(tables, dict) else {each["name"]: each for each in tables}
    rows = tables.get("stragglers", {}).get("rows", [])
    return str(rows[:1]) if rows else "nobody"


def _hta_words(output: str) -> str:
    told = json.loads(output.splitlines()[-1])
    return f"version {told['version']}, stragglers {told['late']}"


if __name__ == "__main__":
    main()
