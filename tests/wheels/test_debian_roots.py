"""The wheel in other suites of Debian: their Python, C library, ROCr and HIP, without a compiler.

Nothing there has a network: dependencies are fetched here, and installed from a folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.program_builds import built_to_run_in
from tests.recorded import PATIENCE_S, PROGRAMS
from tests.runtimes import CACHE, NamedRuntime
from tests.traced import Op, assert_same_ops, executed, traced_kernels
from tests.wheels.chosen_wheel import fetch_dependencies, wheel_version
from tools.debian_root import PATH, WORK, DebianRoot, debian_root, why_not_entered
from wavescope.api.machine import generate_demo
from wavescope.cli.main import main
from wavescope.errors import MachineError
from wavescope.formats import open_trace

pytestmark = pytest.mark.wheels
SUITES = {"bookworm": (3, 11), "trixie": (3, 13), "forky": (3, 13)}
"""The Python that each has, or had when this was written."""
# The suite as it is without ROCm: its folder of libraries is replaced by one of links to the others.
WITHOUT_ROCM = """
import ctypes, os, sys
libraries, kept = "/usr/lib/x86_64-linux-gnu", "/tmp/libraries"
def mount(source, place, kind, flags):
    if ctypes.CDLL(None, use_errno=True).mount(source.encode(), place.encode(), kind, flags, None):
        sys.exit(os.strerror(ctypes.get_errno()))
os.mkdir(kept)
bind = 4096
mount(libraries, kept, None, bind)
mount("/dev/null", "/etc/ld.so.cache", None, bind)
mount("none", libraries, b"tmpfs", 0)
for name in os.listdir(kept):
    if not name.startswith(("libhsa", "libamdhip64")):
        os.symlink(f"{kept}/{name}", f"{libraries}/{name}")
os.execvp(sys.argv[1], sys.argv[1:])
"""
COMPILERS = ("cc", "gcc", "g++", "c++", "clang", "hipcc", "ld")


@dataclass(frozen=True)
class Installed:
    """A suite with wavescope installed in a virtual environment of its Python."""

    root: DebianRoot
    work: Path
    """The folder that is `/mnt` there, and the folder that commands start in."""

    def run(self, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command there to its end; it has to end with `code`."""
        path = {"PATH": f"{WORK}/venv/bin:{PATH}"}
        done = subprocess.run(
            self.root.command(self.work, command, path),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == code, f"{command}: {done.stdout}{done.stderr}"
        return done


@pytest.fixture(scope="module", params=SUITES)
def installed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    wheel_version()  # a skip where there is no wheel comes before anything is fetched
    if reason := why_not_entered():
        pytest.skip(f"programs cannot run in another root: {reason}")
    try:
        root = debian_root(request.param, {**os.environ, **CACHE})
    except MachineError as error:
        pytest.skip(f"the root of {request.param} cannot be made: {error}")
    there = Installed(root, tmp_path_factory.mktemp(request.param))
    version = there.run("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").stdout
    fetch_dependencies(version.strip(), there.work / "wheels")
    there.run("python3", "-m", "venv", "venv")
    there.run(
        *(
            "pip",
            "install",
            "--quiet",
            "--no-index",
            "--find-links",
            "wheels",
            "--only-binary=:all:",
        ),
        f"wavescope=={wheel_version()}",
    )
    return there


def test_it_is_installed_without_a_compiler(installed: Installed) -> None:
    find = "import shutil, sys; print([name for name in sys.argv[1:] if shutil.which(name)])"

    assert installed.run("python3", "-c", find, *COMPILERS).stdout == "[]\n"
    assert installed.run("wavescope", "--version").stdout == f"wavescope {wheel_version()}\n"
    assert sorted(path.name for path in (installed.work / "venv/bin").glob("wave*")) == [
        "wavescope"
    ]


def test_programs_there_can_change_nothing_and_have_no_network(installed: Installed) -> None:
    before = sorted(path.name for path in installed.root.folder.iterdir())

    refused = installed.run("sh", "-c", "echo x >/x", code=2)

    assert "Read-only file system" in refused.stderr
    assert sorted(path.name for path in installed.root.folder.iterdir()) == before
    devices = installed.run("cat", "/proc/self/net/dev").stdout.splitlines()[2:]
    assert [line.split(":")[0].strip() for line in devices] == ["lo"]


def test_doctor_finds_what_the_suite_has(installed: Installed) -> None:
    result = json.loads(installed.run("wavescope", "doctor", "--json").stdout)

    checks = {row[0]: (row[1], row[3]) for row in result["tables"][0]["rows"]}
    assert checks["native library"][0] == "ok"
    assert checks["collector"] == ("ok", "self test passed (libwavescope_collector.so)")
    assert checks["software GPU"][0] == "ok"
    assert checks["ROCm machine"][1].startswith(
        f"ROCr {installed.root.version('libhsa-runtime64')} "
    )
    assert tuple(map(int, checks["Python"][1].split(".")[:2])) >= SUITES[installed.root.suite]
    assert result["facts"]["recording"].startswith("ready on the software GPU")


def test_a_summary_is_the_same_there_and_here(
    installed: Installed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    generate_demo(installed.work / "given.db")
    monkeypatch.chdir(installed.work)
    command = ("summary", "given.db", "--json")

    assert main([*command]) == 0
    here: dict[str, Any] = json.loads(capsys.readouterr().out)

    assert json.loads(installed.run("wavescope", *command).stdout) == here
    assert here["facts"]["op_count"] == 34_868


@pytest.mark.parametrize(
    ("source", "arguments", "mode"),
    [
        ("hsa_load.c", ("2", "2", "100", "each", "exit"), "standard"),
        ("hip_load.hip", ("2", "2", "50", "3"), "full"),
        ("hip_load.hip", ("2", "2", "50", "3"), "hip"),
    ],
    ids=["HSA", "HIP", "HIP calls"],
)
def test_a_program_is_traced_as_it_ran_on_the_suites_runtime(
    installed: Installed, source: str, arguments: tuple[str, ...], mode: str
) -> None:
    program = built_there(installed, PROGRAMS / "collected" / source)
    truth, output = f"{program.name}-{mode}.csv", f"{program.name}-{mode}.db"

    gpus = f"--softgpu=gfx90a,gpus=2,truth={WORK}/{truth}"
    installed.run(
        "wavescope", "trace", gpus, "-m", mode, "-o", output, f"./{program.name}", *arguments
    )

    ran = executed(installed.work / truth)
    with open_trace(installed.work / output) as trace:
        ((_, found),) = traced_kernels(trace).items()
        assert_same_ops(list(map(without_address, found)), ran)
        assert trace.coverage["timed"].sum() == len(ran) >= 400
        assert trace.coverage["lost"].sum() == 0


def built_there(installed: Installed, source: Path) -> Path:
    """A program for the suite in the folder that is shared with it, built once."""
    program = installed.work / source.stem
    if not program.exists():
        flags = ["--offload-arch=gfx90a"] if source.suffix == ".hip" else []
        built_to_run_in(installed.root.packages, source, program, *flags)
    return program


def without_address(op: Op) -> Op:
    """Kernels without a name, as programs without code objects launch, have none in the log."""
    gpu, name, start_ns, end_ns = op
    return (gpu, "" if name.startswith("kernel at 0x") else name, start_ns, end_ns)


def test_the_demo_records_a_program(installed: Installed) -> None:
    done = installed.run("wavescope", "demo", "-o", "demo")

    assert "hipcc is not installed\n" in done.stderr
    assert "recording a Python program in the shape of LLM inference" in done.stderr
    assert "generated" not in done.stderr
    assert done.stdout.startswith("Summary\n")
    made = sorted(path.name for path in (installed.work / "demo").iterdir())
    assert made == ["report.html", "trace.db", "trace.pftrace"]
    with open_trace(installed.work / "demo/trace.db") as trace:
        ((_, found),) = traced_kernels(trace).items()
        names = Counter("own" if "rocclr" not in name else "copies" for _, name, _, _ in found)
        assert names["own"] == 2 * 2 * (8 * 12 + 24 * 8 * 13 + 25)
        assert trace.coverage["timed"].sum() == trace.coverage["seen"].sum() == len(found)


def test_without_rocm_the_demo_says_how_to_get_it_and_shows_a_computed_trace(
    installed: Installed,
) -> None:
    (installed.work / "without_rocm.py").write_text(WITHOUT_ROCM)

    done = installed.run("python3", "without_rocm.py", "wavescope", "demo", "-o", "plain")

    assert "there is no HIP runtime (wavescope softgpu --fetch 6.4 gets one)\n" in done.stderr
    assert "the trace is generated instead\n" in done.stderr
    assert "34,868 ops (computed, not measured)\n" in done.stderr
    assert done.stdout.startswith("Summary\n")


def test_without_rocm_the_demo_records_on_a_fetched_runtime(installed: Installed) -> None:
    fetched = NamedRuntime("6.4").require()
    shutil.copytree(fetched.folder, installed.work / "runtimes" / fetched.name, symlinks=True)
    (installed.work / "without_rocm.py").write_text(WITHOUT_ROCM)
    there = ("env", f"WAVESCOPE_RUNTIMES={WORK}/runtimes", "python3", "without_rocm.py")

    done = installed.run(*there, "wavescope", "demo", "-o", "fetched")

    assert "recording a Python program in the shape of LLM inference" in done.stderr
    assert "gpus=2,runtime=6.4," in done.stderr
    with open_trace(installed.work / "fetched/trace.db") as trace:
        assert trace.coverage["timed"].sum() == trace.coverage["seen"].sum() > 10_000
