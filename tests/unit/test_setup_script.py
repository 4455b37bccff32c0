"""`tools/setup` on a machine whose network fails for a while; every tool it calls is played."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).resolve().parents[2] / "tools" / "setup"
FAILS = """\
#!/bin/bash
echo "$(basename "$0") $*" >>"$LOG"
left=$(cat "$FAILURES/$(basename "$0")" 2>/dev/null || echo 0)
if ((left > 0)) && [[ "$*" == *install* ]]; then
  echo $((left - 1)) >"$FAILURES/$(basename "$0")"
  exit 100
fi
"""
ANSWERS = {
    "id": "echo 0",
    "dpkg": "",
    "dpkg-query": '[[ ! -e "$LOG.absent" || "$*" != *chromium ]] && echo "install ok installed"',
    "sleep": 'echo "sleep $*" >>"$LOG"',
    **dict.fromkeys(("g++", "cmake", "ninja", "node"), ""),
    # Makes the environment's python, which says the same of itself.
    "python3": 'if [[ "$1 $2" == "-m venv" ]]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi',
}


class PlayedMachine:
    """Programs that write down how they are called, and fail as often as they are told to."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._log = folder, folder / "log"
        self._programs, self._failures = folder / "bin", folder / "failures"
        self._programs.mkdir()
        self._failures.mkdir()
        for name, answer in {**ANSWERS, "apt-get": ""}.items():
            text = (FAILS if name in {"apt-get", "python3"} else "#!/bin/bash\n") + answer
            (self._programs / name).write_text(text + "\n")
            (self._programs / name).chmod(0o755)

    def lacks_chromium(self) -> None:
        (self._folder / "log.absent").touch()

    def fails(self, program: str, times: int) -> None:
        (self._failures / program).write_text(str(times))

    def set_up(self) -> tuple[int, str]:
        """The exit code and what was said on standard error."""
        done = subprocess.run(
            ["bash", str(SETUP), str(self._folder / "venv")],
            env={
                "PATH": f"{self._programs}:/usr/bin:/bin",
                "LOG": str(self._log),
                "FAILURES": str(self._failures),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    def calls(self, words: str) -> int:
        return sum(words in line for line in self._log.read_text().splitlines())


@pytest.fixture
def machine(tmp_path: Path) -> PlayedMachine:
    return PlayedMachine(tmp_path)


def test_nothing_is_tried_twice_where_all_goes_well(machine: PlayedMachine) -> None:
    assert machine.set_up() == (0, "")
    assert machine.calls("apt-get") == 0
    assert machine.calls("sleep") == 0
    assert machine.calls("--require-hashes --requirement") == 1
    assert machine.calls("--no-build-isolation --no-deps --editable .") == 1


def test_packages_are_asked_for_again(machine: PlayedMachine) -> None:
    machine.lacks_chromium()
    machine.fails("apt-get", 2)

    code, said = machine.set_up()

    assert code == 0
    assert "installing chromium failed; attempt 2 of 4 in 10 s" in said
    assert "attempt 3 of 4 in 20 s" in said
    assert "tests of reports in a browser are skipped" not in said
    assert machine.calls("install -y --no-install-recommends chromium") == 3


def test_what_is_optional_is_done_without(machine: PlayedMachine) -> None:
    machine.lacks_chromium()
    machine.fails("apt-get", 99)

    code, said = machine.set_up()

    assert code == 0
    assert "installing chromium failed 4 times\nhint: " in said
    assert "without chromium the tests of reports in a browser are skipped" in said


def test_downloads_are_tried_again(machine: PlayedMachine) -> None:
    machine.fails("python", 3)

    code, said = machine.set_up()

    assert code == 0
    assert "installing libraries and tools failed; attempt 4 of 4 in 30 s" in said
    assert machine.calls("requirements/test.txt") == 4
    assert machine.calls("--editable .") == 1


def test_without_a_network_it_ends_with_a_hint(machine: PlayedMachine) -> None:
    machine.fails("python", 99)

    code, said = machine.set_up()

    assert code == 1
    assert (
        "installing libraries and tools failed 4 times\nhint: what was said above tells why" in said
    )
    assert machine.calls("--editable .") == 0
