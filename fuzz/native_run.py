"""`python -m fuzz.native_run`: builds the native fuzzers and runs each for a time.

With Clang they are libFuzzer's, which looks for inputs that reach new code. Without it a driver of
our own changes the seeds at random. Both run under AddressSanitizer and UBSan.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz.native_seeds import write_seeds

_ROOT = Path(__file__).parent.parent
_BUILD = _ROOT / "build" / "fuzz-native"
_CORPUS = _ROOT / "build" / "fuzz" / "native-corpus"
_KEPT = _ROOT / "native" / "fuzz" / "seeds"
_VERSIONS = ("", *(f"-{version}" for version in range(22, 11, -1)))
_RUNS = re.compile(r"Done (\d+) runs|stat::number_of_executed_units:\s*(\d+)")
_EMPTY_TARGET = (
    'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n'
)


@dataclass(frozen=True)
class NativeCount:
    """What one fuzzer did; `report` is what it printed of a failure, empty without one."""

    name: str
    runs: int
    seconds: float
    report: str


def main(arguments: Sequence[str] | None = None) -> int:
    """1 where anything failed."""
    asked = _parser().parse_args(arguments)
    compiler = libfuzzer_compiler()
    print(f"native fuzzers: {compiler or 'no libFuzzer here, a driver of our own'}", flush=True)
    programs = built(compiler)
    write_seeds(_CORPUS)
    counts = [
        run(each, asked.seconds / len(programs), asked.seed, asked.failures) for each in programs
    ]
    print(table_of(counts))
    for count in counts:
        if count.report:
            print(f"{count.name} failed; its input is in {asked.failures}\n{count.report}")
    return 1 if any(count.report for count in counts) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzz.native_run", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of all together (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--failures", type=Path, default=_ROOT / "build" / "fuzz" / "failures", help="where to keep"
    )
    return parser


def libfuzzer_compiler() -> str:
    """A Clang that can link libFuzzer, or an empty text."""
    for version in _VERSIONS:
        compiler = shutil.which(f"clang++{version}")
        if compiler and _links_libfuzzer(compiler):
            return compiler
    return ""


def _links_libfuzzer(compiler: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.cpp")
        source.write_text(_EMPTY_TARGET)
        command = [compiler, "-fsanitize=fuzzer,address", str(source), "-o", f"{folder}/empty"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def built(compiler: str) -> list[Path]:
    """The programs, built under sanitizers with `compiler`, or with the one that CMake finds."""
    folder = _BUILD / ("clang" if compiler else "other")
    chosen = [f"-DCMAKE_CXX_COMPILER={compiler}"] if compiler else []
    options = ["-G", "Ninja", "-DWAVESCOPE_FUZZ=ON", *chosen]
    for command in (
        ["cmake", "-S", str(_ROOT / "native"), "-B", str(folder), *options],
        ["cmake", "--build", str(folder), "--target", "fuzzers"],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return sorted(path for path in (folder / "fuzz").glob("fuzz_*") if path.is_file())


def run(program: Path, seconds: float, seed: int, failures: Path) -> NativeCount:
    """What comes of a fuzzer in that time; new inputs of interest stay in its corpus."""
    failures.mkdir(parents=True, exist_ok=True)
    options = [
        "-runs=-1",
        f"-max_total_time={max(1, round(seconds))}",
        f"-seed={seed}",
        "-max_len=16384",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={failures}/{program.name}-",
    ]
    start = time.monotonic()
    ran = subprocess.run(
        [str(program), *options, str(_CORPUS / program.name), str(_KEPT / program.name)],
        capture_output=True,
        check=False,
        env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"},
    )
    text = (ran.stdout + ran.stderr).decode("utf-8", "replace")
    found = [int(first or second) for first, second in _RUNS.findall(text)]
    report = text[-6_000:] if ran.returncode else ""
    return NativeCount(program.name, max(found, default=0), time.monotonic() - start, report)


def table_of(counts: Sequence[NativeCount]) -> str:
    """The counts as a Markdown table."""
    lines = ["| native reader | cases | cases/s | failures |", "|---|---:|---:|---:|"]
    lines += [
        f"| {count.name} | {count.runs:,} | {count.runs / max(count.seconds, 1e-9):,.0f} "
        f"| {int(bool(count.report))} |"
        for count in counts
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
