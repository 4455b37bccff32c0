"""Inputs that once failed, kept in `fuzz/corpus/`: a folder each, with what is to come of it.

`python -m fuzz.corpus` runs all of them and prints a line of JSON for each; the tests compare.
`python -m fuzz.corpus keep FAILURE NAME` adds a failure that was mended, as it is told now.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fuzz.cases import Case
from fuzz.execution import Limits, Places
from fuzz.inputs import read_folder
from fuzz.samples import SAMPLE_MAKERS
from fuzz.verdict import Outcome, failure_of
from fuzz.worker import Worker

FOLDER = Path(__file__).parent / "corpus"
_ABOUT = "case.json"


@dataclass(frozen=True)
class Entry:
    """A command line over a kept input, the exit code that it has, and the error that it tells."""

    command: tuple[str, ...]
    given: str
    exit_code: int
    says: str = ""


def entries() -> dict[str, Entry]:
    """All that are kept, by name."""
    found = {}
    for path in sorted(FOLDER.glob(f"*/{_ABOUT}")):
        members = json.loads(path.read_text())
        found[path.parent.name] = Entry(**{**members, "command": tuple(members["command"])})
    return found


def case_of_entry(name: str, entry: Entry) -> Case:
    """The kept input as a case."""
    made = read_folder(FOLDER / name / "input", entry.given)
    return Case(name, 0, made, entry.command)


def outcomes(names: Sequence[str]) -> dict[str, Outcome]:
    """What comes of each entry now, in a process of its own."""
    known = entries()
    with tempfile.TemporaryDirectory() as folder:
        places = Places(Path(folder, "running"), Path(folder, "capture"))
        SAMPLE_MAKERS["captures"][0](places.capture)
        worker = Worker(places, lambda name, _: case_of_entry(name, known[name]), Limits())
        try:
            return {name: worker.run(name, 0) for name in names}
        finally:
            worker.close()


def first_message(outcome: Outcome) -> str:
    """The error that was told, without folders of this run; empty where there was none."""
    lines = outcome.errors.splitlines()
    error = next((line for line in lines if line.startswith("error: ")), "")
    words = [word.rpartition("/running/")[2] for word in error.split(" ")]
    return " ".join(words)


def failure(outcome: Outcome) -> str:
    """What is wrong with an outcome, empty where nothing is."""
    return failure_of(outcome, most_bytes=Limits().most_bytes)


def keep(source: Path, name: str) -> None:
    """Add a failure that `python -m fuzz` kept, with what comes of it now."""
    target = FOLDER / name
    words = shlex.split((source / "command.txt").read_text())[1:]
    places = {word for word in words if word == "input" or word.startswith("input/")}
    # Several files of one folder, such as a trace and rules, are given as the folder.
    given = places.pop().removeprefix("input").removeprefix("/") if len(places) == 1 else ""
    whole = f"input/{given}" if given else "input"
    command = tuple(word.replace(whole, "{in}").replace("out/", "{out}/") for word in words)
    target.mkdir(parents=True)
    shutil.copytree(source / "input", target / "input", symlinks=True)
    _write(target, Entry(command, given, 0))
    outcome = outcomes([name])[name]
    assert not failure(outcome), f"it still fails: {failure(outcome)}"
    _write(target, Entry(command, given, outcome.code, first_message(outcome)))


def _write(target: Path, entry: Entry) -> None:
    (target / _ABOUT).write_text(json.dumps(asdict(entry), indent=2) + "\n")


def main(arguments: Sequence[str]) -> None:
    """Run all entries, or keep one more."""
    if arguments[:1] == ["keep"]:
        keep(Path(arguments[1]), arguments[2])
        return
    for name, outcome in outcomes(list(entries())).items():
        told = {"exit_code": outcome.code, "says": first_message(outcome)}
        print(json.dumps({"name": name, "failure": failure(outcome), **told}))


if __name__ == "__main__":
    main(sys.argv[1:])
