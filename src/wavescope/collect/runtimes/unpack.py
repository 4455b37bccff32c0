"""Unpacks Debian packages into a folder that stands alone: no link in it leads out of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from wavescope.collect.runtimes.bounded_command import run_bounded
from wavescope.errors import MachineError

_LIMIT_S = 900
_OWNER_MAY_WRITE = 0o200
_OTHERS_RIGHTS = 0o7022
"""Rights of another user, and to write for all but the owner."""


def unpack(packages: Sequence[Path], root: Path) -> None:
    """Unpack `packages` into a new folder `root`."""
    root.mkdir()
    for package in packages:
        end = run_bounded(["dpkg-deb", "-x", str(package), str(root)], _LIMIT_S)
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
        for library in sorted((root / folder).glob("*.so")):
            link = executable.parent / library.name
            if not link.exists():
                link.symlink_to(os.path.relpath(library, link.parent))


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
