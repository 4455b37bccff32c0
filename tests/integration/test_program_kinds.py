"""Kinds of programs: each does the same with and without recording, and is recorded as told.

The rows are the table of docs/recording.md.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.executed import built, dispatch_coverage, gpu_environment
from tests.recorded import PATIENCE_S, PROGRAMS, processes
from tests.runtimes import require
from wavescope.formats.session.reading import open_session
from wavescope.model.trace import Trace

pytestmark = pytest.mark.recording

DOCS = Path(__file__).parents[2] / "docs" / "recording.md"
MANY = -1
"""Dispatches whose number the program leaves open."""
ALL = "everything"
FILES = "kinds_files.c"
IN_FILES = 42_000
"""Dispatches of each kind in that program."""
CONFINED = "kinds_confined.c"
WHAT_FITS = "what fits; the rest is counted"
LEFT_IN_MEMORY = "everything, by what it left in memory"
WITH_SIGNALS = "what the signals made before suffice for; the rest is counted"


@dataclass(frozen=True)
class Kind:
    """One kind of program, and what is recorded of it."""

    name: str
    does: str
    dispatches: int
    """That it makes, in all its processes."""
    recorded: str = ALL
    processes: int = 1
    """That are recorded."""
    lost: str = ""
    """Why some are counted as lost."""
    program: str = "kinds_lives.c"
    runs: str = ""
    """What the program is told to be, where that is not the name."""
    preloads: str = ""
    """A library that the program is run with."""
    needs_root: bool = False


KINDS = (
    Kind("plain", "ends with an exit code of its own", 100),
    Kind("threads", "dispatches from four threads", 400),
    Kind("fork", "forks before it uses the GPU, and both do", 150, processes=2),
    Kind("double_fork", "leaves a grandchild to work in a session of its own", 100),
    Kind("spawn", "starts another by posix_spawn", 100),
    Kind("vfork_exec", "starts another by vfork and exec in the middle", 200, processes=2),
    Kind("raw_clone", "makes children by the clone system call", 200, processes=2),
    Kind("exec_chain", "becomes another program", 150, processes=2),
    Kind("setsid", "works in a process that leads a session", 100),
    Kind("limit_memory", "limits its address space in the middle", 20_100),
    Kind("limit_stack", "limits its stack", 400),
    Kind("limit_processes", "limits the number of processes", 400),
    Kind("limit_descriptors", "may open no file any more", 100),
    Kind("interrupted", "handles SIGINT and SIGTERM", 100),
    Kind("terminated", "is ended by SIGTERM", 100, LEFT_IN_MEMORY),
    Kind("profiled", "is interrupted by SIGPROF all the time", MANY),
    Kind("child_signals", "counts SIGCHLD, and waits for any child", 1_000),
    Kind("own_faults", "handles SIGBUS and SIGSEGV, and has them", 100),
    Kind("bus_error", "is ended by SIGBUS", 100, LEFT_IN_MEMORY),
    Kind("crash", "is ended by SIGSEGV", 100, LEFT_IN_MEMORY),
    Kind("_exit", "ends by _exit", 100),
    Kind("quick_exit", "ends by quick_exit", 100),
    Kind("abort", "ends by abort", 100, LEFT_IN_MEMORY),
    Kind("works_at_exit", "works on when its exit handlers run", 100),
    Kind("exits_in_thread", "calls exit in a thread", 100),
    Kind("cancelled", "cancels a thread that fills a queue", 450),
    Kind("exits_while_dispatching", "exits while a thread dispatches", MANY, "what had completed"),
    Kind("restarts", "starts and stops the runtime five times", 100),
    Kind("dlopen", "opens and closes the runtime itself", 0, program="kinds_dlopen.c"),
    Kind("static", "is statically linked", 0, "nothing", 0, program="kinds_static.c"),
    Kind(
        "asan",
        "has AddressSanitizer's library loaded before all others",
        400,
        preloads="asan",
        runs="threads",
    ),
    Kind(
        "jemalloc",
        "has jemalloc loaded before all others",
        400,
        preloads="jemalloc",
        runs="threads",
    ),
    Kind("huge_environment", "has 100 KB in its environment", 100, runs="plain"),
    Kind("many_arguments", "has 2,000 arguments", 100, runs="plain"),
    Kind(
        "close_range",
        "closes its descriptors and the driver's by close_range, and opens files",
        IN_FILES,
        WITH_SIGNALS,
        lost="buffer_full",
        program=FILES,
    ),
    Kind(
        "close_loop",
        "closes its descriptors and the driver's one by one, and opens files",
        IN_FILES,
        WITH_SIGNALS,
        lost="buffer_full",
        program=FILES,
    ),
    Kind("close_standard", "closes its standard streams, and opens files", IN_FILES, program=FILES),
    Kind("chdir", "changes its folder", IN_FILES, program=FILES),
    Kind("umask", "makes files that nobody may open", IN_FILES, program=FILES),
    Kind(
        "limit_file_size",
        "limits the size of files in the middle",
        IN_FILES,
        WHAT_FITS,
        lost="no_space",
        program=FILES,
    ),
    Kind(
        "chroot",
        "changes its root in the middle",
        IN_FILES,
        program=FILES,
        needs_root=True,
    ),
    Kind(
        "setuid",
        "becomes another user in the middle",
        IN_FILES,
        program=FILES,
        needs_root=True,
    ),
    Kind(
        "refused_files",
        "may make no file and no thread any more (seccomp)",
        100_100,
        program=CONFINED,
    ),
    Kind(
        "confined_thread",
        "is ended when the thread that works makes or removes a file (seccomp)",
        100_100,
        program=CONFINED,
    ),
    Kind(
        "refused_memory",
        "may have no more memory, files or threads (seccomp)",
        100_100,
        WHAT_FITS,
        lost="buffer_full",
        program=CONFINED,
    ),
)


@dataclass(frozen=True)
class Seen:
    """What a program's user sees of it."""

    status: int
    output: str
    errors: str
    files: dict[str, bytes]


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    programs = tmp_path_factory.getbasetemp() / "kinds"
    programs.mkdir(exist_ok=True)
    return programs


def program_of(kind: Kind, folder: Path) -> Path:
    flags = {"kinds_static.c": ["-static"], "kinds_dlopen.c": ["-ldl"]}.get(kind.program)
    if flags is None:
        return built(kind.program, folder)
    program = folder / Path(kind.program).stem
    source = PROGRAMS / "collected" / kind.program
    subprocess.run(["gcc", "-o", str(program), str(source), *flags], check=True)
    return program


def preloaded(kind: Kind) -> list[str]:
    """The library that a kind is run with; the test is skipped where there is none."""
    if kind.preloads == "asan":
        asked = ["gcc", "-print-file-name=libasan.so"]
        found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        if not Path(found).is_absolute():
            pytest.skip("gcc has no libasan here")
        return [str(Path(found).resolve())]
    if kind.preloads == "jemalloc":
        known = [path for path in Path("/usr/lib").rglob("libjemalloc.so.2") if path.is_file()]
        if not known:
            pytest.skip("libjemalloc2 is not installed")
        return [str(known[0])]
    return []


def seen_of(kind: Kind, program: Path, folder: Path, mode: str | None) -> Seen:
    """A run of a kind, alone or recorded; the software GPU's log would be a file more."""
    own = folder / "own"
    own.mkdir(parents=True)
    settings = {"WAVESCOPE_SOFTGPU_TRUTH": "", "ASAN_OPTIONS": "detect_leaks=0"}
    if kind.name == "huge_environment":
        settings["HUGE"] = "x" * 100_000
    environment = gpu_environment(folder, mode, 1, settings)
    libraries = [*preloaded(kind), environment.get("LD_PRELOAD", "")]
    environment["LD_PRELOAD"] = ":".join(filter(None, libraries))
    more = ["x"] * 2000 if kind.name == "many_arguments" else []
    done = subprocess.run(
        [str(program), kind.runs or kind.name, str(own), *more],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    files = {path.name: path.read_bytes() for path in sorted(own.iterdir())}
    return Seen(done.returncode, done.stdout, done.stderr, files)


def recorded_dispatches(session: Path) -> int:
    """Dispatches in the trace of a session: written, or left in memory by who was ended."""
    with open_session(session) as source:
        return len(Trace(source).ops)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_of_program_is_the_same_with_and_without_recording(
    kind: Kind, folder: Path, tmp_path: Path
) -> None:
    if kind.needs_root and os.getuid() != 0:
        pytest.skip("only root can do that to itself")
    require(kind.name)
    program = program_of(kind, folder)
    alone = seen_of(kind, program, tmp_path / "alone", None)
    recorded = seen_of(kind, program, tmp_path / "recorded", "standard")

    assert recorded == alone
    session = tmp_path / "recorded" / "session"
    found = processes(session)
    try:
        assert len(found) == kind.processes
        if kind.processes == 0:
            return
        ops = recorded_dispatches(session)
        if kind.lost:
            (process,) = found
            lost = kind.dispatches - ops
            assert dispatch_coverage(process)["lost"] == ({kind.lost: lost} if lost else {})
        elif kind.dispatches == MANY:
            assert ops > 0
        else:
            assert ops == kind.dispatches
    finally:
        for process in found:
            process.forget_shared_memory()


def test_the_table_in_the_docs_has_these_kinds() -> None:
    rows = [f"| `{kind.name}` | {kind.does} | {kind.recorded} |" for kind in KINDS]
    lines = DOCS.read_text().splitlines()
    begin = lines.index("| program | what it does | what is recorded |") + 2

    assert lines[begin : begin + len(rows) + 1] == [*rows, ""]
