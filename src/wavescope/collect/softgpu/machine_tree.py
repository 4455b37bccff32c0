"""Writes the files of a machine where programs on the software GPU find them.

A machine's folder is named for what is in it, so that it is written once and then shared by all
programs that run on such a machine.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from wavescope.collect.softgpu.topology import Tree
from wavescope.errors import MachineError

_STAMP = "wavescope-machine"


def written_tree(tree: Tree, environment: Mapping[str, str]) -> Path:
    """The folder with the files of `tree`, written unless it is there already."""
    digest = _digest(tree)
    for machines in (_cache_folder(environment), _temporary_folder()):
        if machines is None:
            continue
        try:
            return _written_below(machines, digest, tree)
        except OSError:
            continue
    raise MachineError(
        "there is no folder to write the software GPU's files to",
        hint="set XDG_CACHE_HOME or TMPDIR to a folder of yours",
    )


def _digest(tree: Tree) -> str:
    digest = hashlib.sha256()
    for kind, entries in (("file", tree.files), ("link", tree.links)):
        for path in sorted(entries):
            digest.update(f"{kind} {path}\0{entries[path]}\0".encode())
    return digest.hexdigest()[:32]


def _cache_folder(environment: Mapping[str, str]) -> Path | None:
    cache, home = Path(environment.get("XDG_CACHE_HOME", "")), Path(environment.get("HOME", ""))
    if not cache.is_absolute():
        cache = home / ".cache"
    return cache / "wavescope" / "softgpu" / "machines" if cache.is_absolute() else None


def _temporary_folder() -> Path:
    return Path(tempfile.gettempdir(), f"wavescope-softgpu-{os.geteuid()}")


def _written_below(machines: Path, digest: str, tree: Tree) -> Path:
    machines.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_own(machines)
    folder = machines / digest
    if not folder.exists():
        _write(machines, folder, digest, tree)
    _require_own(folder)
    if (folder / _STAMP).read_text() != digest:
        raise FileNotFoundError(folder)
    return folder


def _require_own(folder: Path) -> None:
    """Programs believe what these files say: nobody else may have put them there."""
    status = folder.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_own or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(folder)


def _write(machines: Path, folder: Path, digest: str, tree: Tree) -> None:
    """Write under another name first: who finds the folder finds all of it."""
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=machines))
    try:
        for path, content in {**tree.files, _STAMP: digest}.items():
            place = draft / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, encoding="utf-8")
        for path, target in tree.links.items():
            place = draft / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        if not folder.exists():  # else another process was faster
            raise
