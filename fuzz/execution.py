"""Runs one case in this process: writes the input, calls the command, looks at what is left."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from fuzz.cases import Case
from fuzz.direct import run_direct
from fuzz.inputs import state_of, write_input
from fuzz.verdict import Outcome
from wavescope.cli.main import main
from wavescope.errors import EXIT_CHECK_FAILED, EXIT_INCONCLUSIVE, EXIT_OK

_MOST_ERRORS = 20_000
_MOST_MEMORY_BEFORE_DATA = 2 << 30
_BUG_OF_WORKER = b"a bug: "
"""How `ranks` tells of a file whose worker raised what is no error of ours."""
_ANSWERS = (EXIT_OK, EXIT_CHECK_FAILED, EXIT_INCONCLUSIVE)


@dataclass(frozen=True)
class Limits:
    """How long a case may take, and how much memory it may have more than there was before."""

    seconds: float = 8.0
    most_bytes: int = 1 << 30


@dataclass(frozen=True)
class Places:
    """The folders of one process that runs cases; the capture is for commands that need one."""

    folder: Path
    capture: Path

    @property
    def errors(self) -> Path:
        """Where standard error goes."""
        return self.folder / "stderr"

    @property
    def output(self) -> Path:
        """Where standard output goes."""
        return self.folder / "stdout"


def prepare(places: Places, limits: Limits) -> None:
    """Make this process one that runs cases: streams into files, folders of its own, limits."""
    shutil.rmtree(places.folder, ignore_errors=True)
    for name in ("tmp", "home", "out"):
        (places.folder / name).mkdir(parents=True)
    for descriptor, path in ((1, places.output), (2, places.errors)):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.update(
        TMPDIR=str(places.folder / "tmp"),
        HOME=str(places.folder / "home"),
        XDG_CACHE_HOME=str(places.folder / "home"),
        COLUMNS="120",
    )
    os.environ.pop("WAVESCOPE_DEBUG", None)
    tempfile.tempdir = str(places.folder / "tmp")
    warnings.simplefilter("always", RuntimeWarning)
    limit = _data_bytes() + limits.most_bytes + (limits.most_bytes >> 1)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _data_bytes() -> int:
    """What counts against the limit already."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) << 10
    return _MOST_MEMORY_BEFORE_DATA


def execute(case: Case, places: Places) -> Outcome:
    """What comes of `case`."""
    os.truncate(places.output, 0)
    os.truncate(places.errors, 0)
    given = write_input(case.made, places.folder / "input")
    before = state_of(places.folder / "input")
    os.chdir(places.folder / "out")
    peak_bytes, start = _peak_bytes(), time.perf_counter()
    code = _run(_command_line(case, given, places), given)
    seconds = time.perf_counter() - start
    after = state_of(places.folder / "input")
    outcome = Outcome(
        code=code,
        errors=places.errors.read_bytes()[:_MOST_ERRORS].decode("utf-8", "replace"),
        is_json_asked="--json" in case.command,
        is_json_valid=_is_json(places.output) if "--json" in case.command else True,
        changed=tuple(sorted(_short(each, places) for each in _differing(before, after))),
        left=_left(places, code),
        tells_bug=any(
            _BUG_OF_WORKER in path.read_bytes() for path in (places.output, places.errors)
        ),
        peak_bytes=_peak_bytes() - peak_bytes,
        seconds=seconds,
    )
    _clear(places)
    return outcome


def _command_line(case: Case, given: Path, places: Places) -> list[str]:
    fields = {"in": str(given), "out": str(places.folder / "out"), "capture": str(places.capture)}
    return [_filled(word, fields) for word in case.command]


def _filled(word: str, fields: dict[str, str]) -> str:
    for name, value in fields.items():
        word = word.replace("{" + name + "}", value)
    return word


def _run(arguments: list[str], given: Path) -> int:
    try:
        is_direct = arguments[0].startswith("@")
        code = run_direct(arguments[0], given) if is_direct else main(arguments)
        sys.stdout.flush()
    finally:
        sys.stderr.flush()
    return code


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _differing(
    before: dict[str, tuple[int, bytes]], after: dict[str, tuple[int, bytes]]
) -> set[str]:
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def _short(name: str, places: Places) -> str:
    return name.removeprefix(str(places.folder)).encode("utf-8", "replace").decode()


def _left(places: Places, code: int) -> tuple[str, ...]:
    """Temporary files, and outputs of what was refused."""
    left = list((places.folder / "tmp").iterdir())
    if code not in _ANSWERS:
        left += (places.folder / "out").iterdir()
    return tuple(sorted(_short(str(each), places) for each in left))


def _is_json(path: Path) -> bool:
    """Whether the file is one JSON document, or one for each line; NaN is none."""
    try:
        json.loads(path.read_bytes(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _clear(places: Places) -> None:
    os.chdir(places.folder)
    shutil.rmtree(places.folder / "input")
    for name in ("tmp", "out"):
        for each in (places.folder / name).iterdir():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()
