"""`wavescope softgpu --runtime` and `trace --softgpu=runtime=...` with a runtime made by the test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.apt_repository import LIBRARIES, make_repository
from tests.recorded import PATIENCE_S, collector
from tests.softgpu_programs import require_softgpu
from tests.unit.collect.test_program_files import a_program, elf
from wavescope.collect.runtimes import fetched_runtime
from wavescope.formats import open_trace

MARKING = """
import ctypes, sys
roctx = ctypes.CDLL(None)
roctx.roctxMarkA(b"here")
maps = open("/proc/self/maps").read()
print(sorted({line.split()[-1] for line in maps.splitlines() if "libc.so" in line}))
sys.exit(7)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with a runtime 6.4 of this machine's own C library."""
    folder = tmp_path_factory.mktemp("runtimes")
    repository = make_repository(folder / "archive")
    environment = {"WAVESCOPE_RUNTIMES": str(folder / "cache")}
    fetched_runtime("6.4", environment, machine=repository.machine(folder / "machine"))
    return folder / "cache"


@pytest.fixture(autouse=True)
def _own_folders(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_softgpu()
    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("WAVESCOPE_RUNTIMES", str(cache))
    monkeypatch.chdir(tmp_path)


def wavescope(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "wavescope", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def test_a_program_of_the_runtime_is_run(tmp_path: Path) -> None:
    done = wavescope("softgpu", "--runtime", "6.4", "--", "rocminfo", "one", "two")

    assert (done.stdout, done.stderr) == ("one two\n", "")


def test_the_machines_own_runtime_can_be_named() -> None:
    assert wavescope("softgpu", "--runtime", "machine").stdout == wavescope("softgpu").stdout
    assert wavescope("softgpu", "--runtime", "machine", "--", "echo", "1").stdout == "1\n"


def test_a_recorded_program_runs_on_the_runtime_and_keeps_its_name(
    cache: Path, tmp_path: Path
) -> None:
    collector()
    Path("program.py").write_text(MARKING)

    done = wavescope("trace", "--softgpu=runtime=6.4", sys.executable, "program.py", code=7)

    assert done.stdout == f"['{cache / '6.4/root' / LIBRARIES / 'libc.so.6'}']\n"
    with open_trace("trace.db") as trace:
        assert trace.markers.strings("name") == ["here"]
        assert trace.processes.strings("name") == [Path(sys.executable).name]
        assert trace.processes.strings("command") == [f"{sys.executable} program.py"]


def test_overhead_is_measured_on_the_runtime_in_each_arm(cache: Path) -> None:
    collector()
    Path("program.py").write_text(
        f"import sys\nsys.exit({str(cache)!r} not in open('/proc/self/maps').read())\n"
    )
    measure = ["overhead", "--softgpu=runtime=6.4", "--rounds", "2", "--warm-up", "0", "--json"]

    done = wavescope(*measure, "--modes", "lite", "--", sys.executable, "program.py")

    assert json.loads(done.stdout)["facts"]["softgpu"] == "runtime=6.4"


def test_a_program_that_records_nothing_is_not_called_static() -> None:
    collector()

    done = wavescope("trace", "--softgpu=runtime=6.4", "rocminfo", "hello")

    assert done.stdout == "hello\n"
    assert "statically linked" not in done.stderr
    assert "only the program itself runs on the runtime 6.4" in done.stderr


def test_a_static_program_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    collector()
    a_program(tmp_path / "static", elf(1))

    for command in (["softgpu", "--runtime", "6.4", "--"], ["trace", "--softgpu=runtime=6.4"]):
        done = wavescope(*command, "./static", code=2)
        assert "static cannot run on the runtime 6.4: it is statically linked" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runtime", "static"]


def test_runtimes_are_listed(cache: Path) -> None:
    (table,) = json.loads(wavescope("softgpu", "--list-runtimes", "--json").stdout)["tables"]

    rows = {row[0]: row[1:] for row in table["rows"]}
    assert rows["6.4"] == ["ready", "ROCr 6.4.3, HIP 6.4.3", str(cache / "6.4")]
    assert rows["6.1"] == ["can be fetched", "ROCr 6.1 and HIP 5.7 of Debian 13", ""]
    assert "ROCr 6.4.3, HIP 6.4.3" in wavescope("doctor").stdout


def test_fetching_what_is_there_fetches_nothing(cache: Path) -> None:
    done = wavescope("softgpu", "--fetch", "6.4", "--json")

    facts = json.loads(done.stdout)
    assert (facts["runtime"], facts["folder"]) == ("6.4", str(cache / "6.4"))
    assert facts["packages"]["libamdhip64-6"] == "6.4.3-5"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runtime", "6.4"], "needs a program to run"),
        (["--runtime", "9.9", "--", "true"], "there is no runtime '9.9' to fetch"),
        (["--fetch", "6.4", "--", "true"], "take no program"),
        (["--fetch", "6.4", "--list-runtimes"], "not allowed with"),
        (["--mirror", "http://m/debian", "--", "true"], "--mirror is only used to fetch a runtime"),
        (["--remove-runtime", "../6.4"], "there is no runtime '../6.4' in the cache"),
        (["--runtime", "6.4", "--", "no-such-program"], "there is no program 'no-such-program'"),
    ],
)
def test_wrong_requests_are_refused(arguments: list[str], message: str) -> None:
    assert message in wavescope("softgpu", *arguments, code=2).stderr


def test_a_runtime_is_removed(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other/6.1/root").mkdir(parents=True)
    monkeypatch.setenv("WAVESCOPE_RUNTIMES", str(tmp_path / "other"))

    done = wavescope("softgpu", "--remove-runtime", "6.1")

    assert done.stdout == f"removed {tmp_path / 'other/6.1'}\n"
    assert list((tmp_path / "other").iterdir()) == []
