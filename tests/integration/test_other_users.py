"""Other users of a machine put their own things where wavescope keeps its: none of it is used."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.recorded import PATIENCE_S, collector
from wavescope.formats import open_trace
from wavescope.formats.session.layout import MAGIC, VERSION

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")

WAVESCOPE = (sys.executable, "-m", "wavescope")
STRANGER = 65534
A_CONTROL_PAGE = (MAGIC + struct.pack("<II", VERSION, 1)).ljust(4096, b"\0")
PROGRAM = (
    "import ctypes, sys\n"
    "ctypes.CDLL(None).roctxMarkA(b'mine')\n"
    "print('running', flush=True)\n"
    "sys.stdin.readline()\n"
)


def as_stranger(work: Callable[[], object]) -> None:
    """Do something as another user, in a process of its own."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def state(folder: Path) -> dict[str, tuple[int, int, bytes | None]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        found[str(path)] = (facts.st_mode, facts.st_mtime_ns, content)
    return found


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder as /tmp is, that the stranger reaches; the user has a home.

    Not in pytest's own, which every pytest that starts on this machine closes to others again.
    """
    with tempfile.TemporaryDirectory(prefix="wavescope-strangers-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        for name in ("shared", "home", "work"):
            (place / name).mkdir()
        (place / "shared").chmod(0o1777)
        monkeypatch.setenv("TMPDIR", str(place / "shared"))
        monkeypatch.setenv("HOME", str(place / "home"))
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.chdir(place / "work")
        yield place / "shared"
        monkeypatch.undo()  # nobody is left in a folder that goes


def an_open_folder(place: Path, theirs: Path) -> None:
    """A folder that all may write to, with a list that names the stranger's session."""
    place.mkdir()
    place.chmod(0o777)
    (place / "1").write_text(str(theirs))


def a_link(place: Path, theirs: Path) -> None:
    place.symlink_to(theirs)


@pytest.mark.parametrize("trap", [an_open_folder, a_link])
def test_recordings_are_not_listed_where_a_stranger_waits(
    shared: Path, trap: Callable[[Path, Path], None]
) -> None:
    collector()
    theirs = shared / "theirs"

    def prepare() -> None:
        theirs.mkdir()
        theirs.chmod(0o777)
        (theirs / "1-1.control").write_bytes(A_CONTROL_PAGE)
        trap(shared / "wavescope-0", theirs)

    as_stranger(prepare)
    before = state(shared)
    recorder = subprocess.Popen(
        [*WAVESCOPE, "trace", "-o", "t.db", sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert recorder.stdout is not None
    assert recorder.stdout.readline() == "running\n"
    paused = subprocess.run(
        [*WAVESCOPE, "pause", str(recorder.pid)], capture_output=True, text=True, check=False
    )
    # Their list says that a session of process 1, which all run below, is there to be paused.
    subprocess.run([*WAVESCOPE, "pause", "1"], capture_output=True, check=False)
    recorder.communicate("\n", timeout=PATIENCE_S)

    assert recorder.returncode == 0
    assert paused.returncode == 0, paused.stderr
    assert state(shared) == before
    with open_trace("t.db") as trace:
        assert trace.markers.strings("name") == ["mine"]


@pytest.mark.parametrize("trap", [an_open_folder, a_link])
def test_a_machine_that_a_stranger_wrote_is_not_run_on(
    shared: Path, trap: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wavescope.collect.softgpu.environment import written_tree
    from wavescope.collect.softgpu.topology import Tree
    from wavescope.errors import MachineError

    monkeypatch.setattr("tempfile.tempdir", str(shared))
    theirs = shared / "theirs"

    def prepare() -> None:
        theirs.mkdir()
        theirs.chmod(0o777)
        trap(shared / "wavescope-softgpu-0", theirs)

    as_stranger(prepare)
    before = state(shared)
    tree = Tree({"a": "1"}, {})

    with pytest.raises(MachineError, match="no folder to write the software GPU's files to"):
        written_tree(tree, {})
    at_home = written_tree(tree, {"HOME": str(shared.parent / "home")})

    assert at_home.is_relative_to(shared.parent / "home")
    assert state(shared) == before


def test_a_lock_file_is_not_written_through_a_strangers_link(shared: Path) -> None:
    from wavescope.collect.runtimes.fetch import fetching_alone

    as_stranger(lambda: (shared / ".6.4.lock").symlink_to(shared.parent / "home" / "made"))

    with (
        pytest.raises(OSError, match=r"symbolic links|Permission"),
        fetching_alone(shared, "6.4", lambda _: None),
    ):
        pytest.fail("the block must not run")

    assert not (shared.parent / "home" / "made").exists()


def test_an_output_is_not_written_through_a_strangers_link(shared: Path) -> None:
    victim = shared.parent / "home" / "precious"
    victim.write_text("mine")
    as_stranger(lambda: (shared / "out.db").symlink_to(victim))
    command = [*WAVESCOPE, "softgpu", "--tiny-model", str(shared / "out.db")]

    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    subprocess.run([*command, "--force"], capture_output=True, text=True, check=False)

    assert refused.returncode == 2
    assert "already exists" in refused.stderr
    assert victim.read_text() == "mine"
