"""Where captures are: in a folder named by the user, below it, or inside an archive."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wavescope.errors import UnreadableInputError, UsageError
from wavescope.formats.captures.archive_tree import opened_archive
from wavescope.formats.captures.file_tree import FileTree, FolderTree, names_in

CODE_FILE = "code.json"
_DISPATCH = re.compile(r"dispatch_(\d{1,18})")
_AGENT = re.compile(r"agent_(\d{1,20})")
_STATS = re.compile(r"stats_(ui_output_.*)\.csv\Z")
_SEARCH_DEPTH = 6
_LISTED = 8

_WHAT_TO_NAME = "name a folder such as ui_output_agent_1_dispatch_2, or an archive of it"


@dataclass(frozen=True)
class CaptureLocation:
    """One capture: a folder inside a tree."""

    tree: FileTree
    folder: str
    """Below the tree's root; '' where the root itself is the capture."""

    @property
    def path(self) -> str:
        """How messages name the capture."""
        return posixpath.join(self.tree.path, self.folder) if self.folder else self.tree.path

    @property
    def name(self) -> str:
        """The folder's own name."""
        return Path(self.path).absolute().name

    @property
    def dispatch_id(self) -> int | None:
        """The last number after `dispatch_` in the name."""
        found = _DISPATCH.findall(self.name)
        return int(found[-1]) if found else None

    @property
    def agent_handle(self) -> str:
        """The number after `agent_` in the name: a handle, not a process id."""
        found = _AGENT.search(self.name)
        return found[1] if found else ""


def find_captures(paths: Sequence[str | os.PathLike[str]]) -> list[CaptureLocation]:
    """Every capture that the paths name, hold or pack, in order of their names."""
    found: list[CaptureLocation] = []
    for path in paths:
        found += _captures_of(Path(path))
    return found


def holds_captures(path: str | os.PathLike[str]) -> bool:
    """Whether `path` names, holds or packs a capture."""
    try:
        return bool(find_captures([path]))
    except UnreadableInputError:
        return False


def only_capture(
    path: str | os.PathLike[str], found: Sequence[CaptureLocation] | None = None
) -> CaptureLocation:
    """The one capture at `path`, or of those that were `found` there; several are a usage error."""
    locations = find_captures([path]) if found is None else found
    if len(locations) > 1:
        names = ", ".join(location.path for location in locations[:_LISTED])
        more = f" and {len(locations) - _LISTED} more" if len(locations) > _LISTED else ""
        raise UsageError(f"{path} holds {len(locations)} captures", hint=f"name one: {names}{more}")
    return locations[0]


def _captures_of(path: Path) -> list[CaptureLocation]:
    if path.is_dir():
        if (path / CODE_FILE).is_file():
            return [CaptureLocation(FolderTree(path, deepest=1), "")]
        tree: FileTree = FolderTree(path, deepest=_SEARCH_DEPTH)
    elif not path.exists():
        raise UnreadableInputError(path, "there is no such file or folder", hint=_WHAT_TO_NAME)
    elif not path.is_file():
        raise UnreadableInputError(path, "it is neither a regular file nor a folder")
    else:
        if stats := _STATS.search(path.name):
            return _captures_of(_folder_of_stats(path, stats[1]))
        if path.name == CODE_FILE:
            return _captures_of(path.parent)
        archive = opened_archive(path)
        if archive is None:
            raise UnreadableInputError(
                path, "it is neither a folder nor a zip or tar archive", hint=_WHAT_TO_NAME
            )
        tree = archive
    return _captures_in(path, tree)


def _folder_of_stats(path: Path, name: str) -> Path:
    folder = path.parent / name
    if not folder.is_dir():
        raise UnreadableInputError(
            path,
            f"the folder {name} that it summarises is not next to it",
            hint="the file alone does not say what waits waited for: keep the whole output folder",
        )
    return folder


def _captures_in(path: Path, tree: FileTree) -> list[CaptureLocation]:
    folders = sorted(
        {posixpath.dirname(name) for name in tree.sizes if posixpath.basename(name) == CODE_FILE},
        key=_natural,
    )
    if not folders:
        raise UnreadableInputError(
            path,
            "there is no code.json in it or below it",
            hint="name a folder such as ui_output_agent_1_dispatch_2; was the trace decoder there "
            "when it was captured? without it rocprofv3 writes .att files only",
        )
    return [
        CaptureLocation(FolderTree(path / folder, deepest=1), "")
        if isinstance(tree, FolderTree)
        else CaptureLocation(tree, folder)
        for folder in folders
    ]


def neighbours(location: CaptureLocation, wanted: re.Pattern[str]) -> list[tuple[FileTree, str]]:
    """Files of `wanted` names beside the capture's own and in the two folders above it."""
    found = [
        (location.tree, name)
        for name in names_in(location.tree.sizes, location.folder)
        if wanted.search(posixpath.basename(name))
    ]
    if isinstance(location.tree, FolderTree):
        above = Path(location.path).resolve()
        for _ in range(2):
            above = above.parent
            try:
                tree = FolderTree(above, deepest=1, wanted=wanted)
                found += [(tree, name) for name in tree.sizes]
            except UnreadableInputError:
                break
        return found
    folder = location.folder
    for _ in range(2):
        if not folder:
            break
        folder = posixpath.dirname(folder)
        found += [
            (location.tree, name)
            for name in names_in(location.tree.sizes, folder)
            if wanted.search(posixpath.basename(name))
        ]
    return found


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts dispatch_2 before dispatch_10."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
    ]
