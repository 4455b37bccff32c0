"""Soak: random programs, recorded while somebody pauses and resumes them at random moments.

    .venv/bin/python benchmarks/soak/run.py --runs 1000

Every run draws one of three games: a tree of processes that fork, spawn, become others and end in
every way; a program that closes or loses its descriptors, folder, root or user and has files of its
own; a program that fills its queue faster than the GPU works. Each is recorded on the software GPU,
and half of them are paused and resumed from outside all the time. A run fails when it hangs, ends or
prints differently than alone, changes a byte of the program's files, or when the counts of what was
seen, timed, skipped and lost do not add up to what the program did. `--runtime 6.4` runs programs on
another ROCm, `--interception own` records them by rings of the collector's own.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.executed import built, dispatch_coverage, gpu_environment
from tests.recorded import processes
from wavescope.collect.running_sessions import ControlPage, set_recording
from wavescope.collect.runtimes import MACHINE
from wavescope.errors import WavescopeError

LONGEST_S = 120
FILE_KINDS = (
    "nothing",
    "close_range",
    "close_loop",
    "close_standard",
    "chdir",
    "umask",
    "limit_file_size",
    "limit_descriptors",
    "session_deleted",
    "session_cut",
    "session_replaced",
)
ROOT_KINDS = ("chroot", "setuid")
FLOODS = ("none", "each", "barriers", "once", "threads", "pause", "resume", "host", "host-once")
FILE_DISPATCHES = 42_000


class Ran(NamedTuple):
    """How a program ended, what it printed, and its own files."""

    status: int
    output: str
    files: dict[str, bytes]


class Game(NamedTuple):
    """A program with its arguments; `{own}` among them is a folder of its own."""

    program: str
    arguments: tuple[str, ...]


def drawn(random_: random.Random) -> Game:
    """One of the games."""
    kind = random_.choice(("tree", "files", "flood"))
    if kind == "tree":
        return Game("hsa_tree", ("{own}/said", "3", str(random_.randrange(1, 1 << 30))))
    if kind == "files":
        kinds = FILE_KINDS + (ROOT_KINDS if os.getuid() == 0 else ())
        return Game("kinds_files", (random_.choice(kinds), "{own}"))
    size = str(random_.choice((64, 256, 1024)))
    return Game("hsa_flood", (size, str(random_.randrange(200, 4_000)), random_.choice(FLOODS)))


def run(game: Game, programs: Path, folder: Path, mode: str | None) -> Ran:
    """Run a game, recorded in `mode` or alone."""
    own = folder / "own"
    own.mkdir(parents=True)
    own.chmod(0o777)  # the program may become another user
    kernel_ns = "20000" if game.program == "hsa_flood" else "2000"
    settings = {"WAVESCOPE_SOFTGPU_TRUTH": "", "WAVESCOPE_SOFTGPU_KERNEL_NS": kernel_ns}
    done = subprocess.run(
        [str(programs / game.program), *(a.format(own=own) for a in game.arguments)],
        env=gpu_environment(folder, mode, 2, settings),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    files = {path.name: path.read_bytes() for path in sorted(own.iterdir())}
    return Ran(done.returncode, done.stdout, files)


@contextmanager
def disturbed(session: Path, random_: random.Random) -> Iterator[None]:
    """Pause and resume every process of a session at random moments meanwhile."""
    is_over = threading.Event()

    def disturb() -> None:
        while not is_over.wait(random_.random() * 0.01):
            for path in session.glob("*.control"):
                with suppress(OSError, WavescopeError):  # it is just being made, or gone
                    set_recording(ControlPage(0, path), recording=random_.random() < 0.5)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def trouble_of(game: Game, alone: Ran, recorded: Ran, session: Path) -> str:
    """What is wrong with a recorded run, or nothing."""
    if game.program == "hsa_tree":
        return tree_trouble(recorded, session)
    if recorded != alone:
        differs = [name for name in alone.files if recorded.files.get(name) != alone.files[name]]
        return f"alone {alone.status}, recorded {recorded.status}; files that differ: {differs}"
    if game.arguments[0].startswith("session_"):
        return ""
    expected = FILE_DISPATCHES if game.program == "kinds_files" else None
    return coverage_trouble(session, expected)


def coverage_trouble(session: Path, expected: int | None) -> str:
    for process in processes(session):
        coverage = dispatch_coverage(process)
        accounted = coverage["timed"] + sum(coverage["skipped"].values())
        accounted += sum(coverage["lost"].values())
        if accounted != coverage["seen"] or expected not in {None, coverage["seen"]}:
            return f"counts do not add up: {coverage}"
    return ""


def tree_trouble(recorded: Ran, session: Path) -> str:
    """Trees differ from run to run in their process ids; what they say is compared with counts."""
    said: Counter[int] = Counter()
    for line in recorded.files.get("said", b"").decode().splitlines():
        pid, dispatches = map(int, line.split())
        said[pid] += dispatches
    seen: Counter[int] = Counter()
    for process in processes(session) if session.exists() else []:
        seen[process.pid] += dispatch_coverage(process)["seen"]
    return "" if recorded.status == 0 and seen == said else f"said {said}, seen {seen}"


def play(number: int, seed: int, programs: Path, folder: Path) -> str:
    """One run; what went wrong, or nothing."""
    random_ = random.Random(seed * 1_000_003 + number)
    game = drawn(random_)
    session = folder / "recorded" / "session"
    mode = random_.choice(("lite", "standard", "full"))
    is_disturbed = random_.random() < 0.5
    try:
        alone = run(game, programs, folder / "alone", None)
        if is_disturbed:
            with disturbed(session, random_):
                recorded = run(game, programs, folder / "recorded", mode)
        else:
            recorded = run(game, programs, folder / "recorded", mode)
        trouble = trouble_of(game, alone, recorded, session)
    except subprocess.TimeoutExpired:
        trouble = f"hangs for {LONGEST_S} s"
    finally:
        for process in processes(session) if session.exists() else []:
            process.forget_shared_memory()
    return trouble and f"run {number}, {game}, {mode}, disturbed {is_disturbed}: {trouble}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runtime", default="", help="such as 6.4 (default: the machine's own)")
    parser.add_argument("--interception", default="", help="own, or runtime (default)")
    arguments = parser.parse_args()
    # What tests run on is read when their modules are imported.
    wanted = {
        "WAVESCOPE_TEST_RUNTIME": arguments.runtime or MACHINE,
        "WAVESCOPE_TEST_INTERCEPTION": arguments.interception,
    }
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
    troubles = []
    games: Counter[str] = Counter()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="wavescope-soak-") as temporary:
        programs = Path(temporary) / "programs"
        programs.mkdir()
        for name in ("hsa_tree.c", "kinds_files.c", "hsa_flood.c"):
            built(name, programs)
        for number in range(arguments.runs):
            folder = Path(temporary) / str(number)
            if trouble := play(number, arguments.seed, programs, folder):
                troubles.append(trouble)
                print(trouble, flush=True)
            games[drawn(random.Random(arguments.seed * 1_000_003 + number)).program] += 1
            shutil.rmtree(folder, ignore_errors=True)
            if number % 50 == 49:
                print(f"{number + 1} runs, {len(troubles)} with trouble", file=sys.stderr)
    drawn_games = ", ".join(f"{count} {name}" for name, count in sorted(games.items()))
    print(f"{arguments.runs} runs ({drawn_games}), {len(troubles)} with trouble", end="")
    print(f", {time.monotonic() - began_s:.0f} s")
    raise SystemExit(1 if troubles else 0)


if __name__ == "__main__":
    main()
