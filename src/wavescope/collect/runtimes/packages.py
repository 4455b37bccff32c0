"""Debian packages: read, verified and unpacked by the system's tools, within time limits.

They are unpacked into a folder that stands alone: no link in it leads out of it.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavescope.closing import on_error
from wavescope.errors import MachineError

_READ_LIMIT_S = 60
_UNPACK_LIMIT_S = 900
_WAITED_S = 5.0
_OWNER_MAY_WRITE = 0o200
_OTHERS_RIGHTS = 0o7022
"""Rights of another user, and to write for all but the owner."""


@dataclass(frozen=True)
class CommandEnd:
    """What a tool printed, both streams together, and its exit code."""

    output: str
    status: int


def run_bounded(
    command: Sequence[str], limit_s: float, waited: Callable[[], None] | None = None
) -> CommandEnd:
    """Run `command`; it and all it started are gone when this returns or raises.

    `waited` is called every few seconds while it runs.
    """
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise MachineError(
            f"there is no {command[0]} on this machine",
            hint="runtimes can be fetched on Debian and Ubuntu; elsewhere copy the folder of one",
        ) from error
    with process, on_error(lambda: os.killpg(process.pid, signal.SIGKILL)):
        output = _output(process, limit_s, waited)
    if output is None:
        raise MachineError(
            f"{command[0]} took longer than {limit_s:.0f} s and was stopped",
            hint="try again; nothing was kept",
        )
    return CommandEnd(output.decode(errors="replace"), process.returncode)


def _output(
    process: subprocess.Popen[bytes], limit_s: float, waited: Callable[[], None] | None
) -> bytes | None:
    """What a process prints until it ends; None when it was ended for taking too long."""
    deadline = time.monotonic() + limit_s
    while True:
        remaining_s = deadline - time.monotonic()
        try:
            return process.communicate(timeout=min(_WAITED_S, max(0.0, remaining_s)))[0]
        except subprocess.TimeoutExpired:
            if remaining_s <= _WAITED_S:
                os.killpg(process.pid, signal.SIGKILL)
                return None
            if waited:
                waited()


@dataclass(frozen=True)
class Package:
    """One unpacked package, as it was fetched and verified."""

    name: str
    version: str
    architecture: str
    bytes: int
    sha256: str

    @property
    def upstream_version(self) -> str:
        """The version without what the distribution adds: 6.4.3 of `1:6.4.3+dfsg-5`."""
        found = re.match(r"(?:\d+:)?([\d.]+)", self.version)
        return found[1].rstrip(".") if found else self.version


def package_of(path: Path) -> Package:
    """What a package file says it is, with its hash."""
    end = run_bounded(
        ["dpkg-deb", "-f", str(path), "Package", "Version", "Architecture"], _READ_LIMIT_S
    )
    fields = dict(re.findall(r"^(\S+): (.*)$", end.output, re.MULTILINE))
    if end.status or len(fields) != 3:
        raise MachineError(f"{path.name} is not a Debian package")
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return Package(
        fields["Package"],
        fields["Version"],
        fields["Architecture"],
        path.stat().st_size,
        digest.hexdigest(),
    )


def unpack(packages: Sequence[Path], root: Path) -> None:
    """Unpack `packages` into a new folder `root`."""
    root.mkdir()
    for package in packages:
        end = run_bounded(["dpkg-deb", "-x", str(package), str(root)], _UNPACK_LIMIT_S)
        if end.status:
            reason = (end.output.strip().splitlines() or ["dpkg-deb failed"])[-1]
            raise MachineError(f"{package.name} cannot be unpacked: {reason}")
        # Before the next package, which could otherwise be written through a link.
        keep_links_inside(root)
    _take_rights(root)


def link_plugins(root: Path, folders: Sequence[str], executable: Path) -> None:
    """Let programs find the libraries in `folders` of `root` beside their executable.

    That is the dynamic linker, when it is told to load them.
    """
    for folder in folders:
        _link_all(sorted((root / folder).glob("*.so")), executable.parent)


def link_programs(root: Path, folders: Sequence[str]) -> None:
    """Let programs in `folders` of `root` be found by their names."""
    for folder in folders:
        files = (path for path in (root / folder).glob("*") if path.is_file())
        _link_all(sorted(path for path in files if os.access(path, os.X_OK)), root / "usr/bin")


def _link_all(targets: Sequence[Path], folder: Path) -> None:
    for target in targets:
        link = folder / target.name
        if not link.exists():
            link.symlink_to(os.path.relpath(target, folder))


def link_libraries(folder: Path, links: Mapping[str, str]) -> None:
    """Give libraries in `folder` the names that `links` has for patterns of theirs."""
    for name, pattern in links.items():
        for library in sorted(folder.glob(pattern)):
            if not (folder / name).exists():
                (folder / name).symlink_to(library.name)


def keep_links_inside(root: Path) -> None:
    """Let absolute links in `root` mean what they would with `root` as `/`; remove the others.

    Links that climb out of the folder by `..` are what no package has a use for.
    """
    for link in list(_links(root)):
        target = str(link.readlink())
        folder = link.parent.relative_to(root)
        inside = _lexical(Path("/") / folder, target)
        if inside is None:
            link.unlink()
        elif target.startswith("/"):
            link.unlink()
            link.symlink_to(os.path.relpath(inside, Path("/") / folder))


def _lexical(folder: Path, target: str) -> Path | None:
    """What `target` names from `folder`, or None when it climbs above `/`."""
    parts: list[str] = [] if target.startswith("/") else list(folder.parts[1:])
    for part in Path(target).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != "/":
            parts.append(part)
    return Path("/", *parts)


def _links(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            if path.is_symlink():
                yield path


def _take_rights(root: Path) -> None:
    """Leave no program with another user's rights, and nothing that others may write."""
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode):
                path.chmod(stat.S_IMODE(mode) & ~_OTHERS_RIGHTS | _OWNER_MAY_WRITE)
