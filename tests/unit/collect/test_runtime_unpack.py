"""Unpacked packages stay in their folder."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.apt_repository import require_tools
from wavescope.collect.runtimes import packages as bounded_command
from wavescope.collect.runtimes.packages import (
    keep_links_inside,
    link_plugins,
    link_programs,
    run_bounded,
    unpack,
)
from wavescope.errors import MachineError


@pytest.mark.parametrize(
    ("link", "target", "expected"),
    [
        ("usr/lib/a.so", "a.so.1", "a.so.1"),
        ("usr/lib/a.so", "../../etc/a", "../../etc/a"),
        ("usr/lib/a.so", "/etc/alternatives/a", "../../etc/alternatives/a"),
        ("usr/lib/a.so", "/usr/lib/a.so.1", "a.so.1"),
        ("lib", "/usr/lib", "usr/lib"),
        ("usr/lib/a.so", "../../../etc/passwd", None),
        ("usr/lib/a.so", "/../etc/passwd", None),
        ("usr/lib/a.so", "../../../../../../../../etc/passwd", None),
    ],
)
def test_links_lead_nowhere_else(
    link: str, target: str, expected: str | None, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    path = root / link
    path.parent.mkdir(parents=True)
    path.symlink_to(target)

    keep_links_inside(root)

    assert (str(path.readlink()) if path.is_symlink() else None) == expected


def test_plugins_are_found_beside_the_linker(tmp_path: Path) -> None:
    linker = tmp_path / "usr/lib/ld.so"
    (tmp_path / "usr/lib/app/plugins").mkdir(parents=True)
    for name in ("ld.so", "here.so", "app/plugins/here.so", "app/plugins/a.so", "app/plugins/b"):
        (linker.parent / name).touch()

    link_plugins(tmp_path, ["usr/lib/app/plugins", "nowhere"], linker)

    assert (linker.parent / "a.so").readlink() == Path("app/plugins/a.so")
    assert not (linker.parent / "here.so").is_symlink()
    assert not (linker.parent / "b").exists()


def a_package(folder: Path, name: str) -> Path:
    """A package of what is in `folder`."""
    control = folder / "DEBIAN/control"
    control.parent.mkdir()
    control.write_text(
        f"Package: {name}\nVersion: 1\nArchitecture: amd64\n"
        "Maintainer: Nobody <nobody@example.org>\nDescription: for a test\n"
    )
    package = folder.parent / f"{name}.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(folder), str(package)]
    subprocess.run(command, capture_output=True, check=True)
    return package


def test_programs_are_found_by_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "usr/libexec/bench"
    folder.mkdir(parents=True)
    (tmp_path / "usr/bin").mkdir()
    for name, mode in (("bench", 0o755), ("notes", 0o644)):
        (folder / name).write_text("")
        (folder / name).chmod(mode)

    link_programs(tmp_path, ["usr/libexec/bench", "usr/libexec/moved"])

    found = {path.name: str(path.readlink()) for path in (tmp_path / "usr/bin").iterdir()}
    assert found == {"bench": "../libexec/bench/bench"}


def test_a_package_is_not_written_through_the_link_of_another(tmp_path: Path) -> None:
    require_tools()
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "one").mkdir()
    (tmp_path / "one/etc").symlink_to(outside)
    (tmp_path / "two/etc").mkdir(parents=True)
    (tmp_path / "two/etc/settings").write_text("two")
    packages = [a_package(tmp_path / name, name) for name in ("one", "two")]

    unpack(packages, tmp_path / "root")

    assert list(outside.iterdir()) == []
    assert (tmp_path / "root/etc/settings").read_text() == "two"


def test_nothing_is_unpacked_with_the_rights_of_others(tmp_path: Path) -> None:
    require_tools()
    program = tmp_path / "one/usr/bin/program"
    program.parent.mkdir(parents=True)
    program.touch()
    program.chmod(0o6777)

    unpack([a_package(tmp_path / "one", "one")], tmp_path / "root")

    assert (tmp_path / "root/usr/bin/program").stat().st_mode & 0o7777 == 0o755


def test_what_is_no_package_is_named(tmp_path: Path) -> None:
    require_tools()
    (tmp_path / "bad.deb").write_bytes(b"nothing")

    with pytest.raises(MachineError, match=r"bad\.deb cannot be unpacked"):
        unpack([tmp_path / "bad.deb"], tmp_path / "root")


def test_a_tool_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 1000 & echo $! >{pids}.new; mv {pids}.new {pids}; wait"

    with pytest.raises(MachineError, match="took longer than 1 s and was stopped"):
        run_bounded(["sh", "-c", script], 1)

    started = int(pids.read_text()) if pids.exists() else 0  # a busy machine may not come so far
    patience_ends = time.monotonic() + 300
    while _is_alive(started) and time.monotonic() < patience_ends:
        time.sleep(0.01)
    assert not _is_alive(started)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


def test_a_tool_that_is_not_there_is_named() -> None:
    with pytest.raises(MachineError, match="there is no no-such-tool on this machine"):
        run_bounded(["no-such-tool"], 1)


def test_somebody_hears_of_a_tool_that_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_command, "_WAITED_S", 0.05)
    go = tmp_path / "go"

    end = run_bounded(["sh", "-c", f"echo a; until [ -e {go} ]; do :; done; exit 3"], 300, go.touch)

    assert (end.output, end.status) == ("a\n", 3)
