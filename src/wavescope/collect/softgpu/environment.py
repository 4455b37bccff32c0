"""The variables that run a program on the software GPU, and the files that they name.

The files are those of the machine that the GPUs are in. A machine's folder is named for what is in
it, so that it is written once and then shared by all programs that run on such a machine.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from wavescope.collect.libraries import is_loadable, with_word
from wavescope.collect.machine import Machine
from wavescope.collect.softgpu.options import PREFIX, SoftGpuOptions
from wavescope.collect.softgpu.settings import HostFacts, machine_settings
from wavescope.collect.softgpu.topology import Tree, machine_files
from wavescope.errors import MachineError
from wavescope.package_files import package_file
from wavescope.private_folders import private_folder, why_not_private

LIBRARY = "libwavescope_softgpu.so"
TREE_VARIABLE = PREFIX + "TREE"
_STAMP = "wavescope-machine"
_RUNTIME = "libhsa-runtime64.so.1"
_GET_RUNTIME = (
    "on Debian 12: apt-get install --no-install-recommends libhsa-runtime64-1 libamdhip64-5"
)
_GET_LIBRARY = "on Linux: pip install --force-reinstall wavescope"
# 0: memory is passed to other processes by descriptors; the other way is the vendor's kernels' own.
_IPC_VARIABLE = "HSA_ENABLE_IPC_MODE_LEGACY"


def softgpu_environment(
    options: SoftGpuOptions | str,
    environment: Mapping[str, str],
    machine: Machine | None = None,
) -> dict[str, str]:
    """The variables that run a program of `environment` on such GPUs; an error when it cannot.

    Options may be spelled as for `--softgpu`: `gfx90a,gpus=8`.
    """
    if isinstance(options, str):
        options = SoftGpuOptions.parse(options)
    here = machine or Machine(environment=environment)
    if trouble := softgpu_trouble(here, has_runtime=options.other_runtime is not None):
        raise trouble
    library = softgpu_library()
    assert library is not None
    if not is_loadable(library):
        raise MachineError(
            f"{library} cannot be preloaded: its path has a space or a colon",
            hint="install wavescope in another folder",
        )
    settings = machine_settings(options.of_machine(environment), HostFacts.of_this_machine())
    tree = written_tree(machine_files(settings), environment)
    return {
        **options.variables(),
        TREE_VARIABLE: str(tree),
        "LD_PRELOAD": with_word(environment.get("LD_PRELOAD", ""), str(library), ":"),
        _IPC_VARIABLE: environment.get(_IPC_VARIABLE, "0"),
    }


def softgpu_library() -> Path | None:
    """The installed library, or None when this build has none."""
    return package_file("lib", "softgpu", LIBRARY)


def softgpu_trouble(machine: Machine, *, has_runtime: bool = False) -> MachineError | None:
    """Why programs cannot run on the software GPU here, or None when they can.

    `has_runtime`: they run on another runtime than the machine's own.
    """
    if softgpu_library() is None:
        return MachineError("this installation has no software GPU", hint=_GET_LIBRARY)
    if not has_runtime and not machine.library(_RUNTIME):
        return MachineError("the software GPU needs an HSA runtime", hint=_GET_RUNTIME)
    return None


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
        hint="set XDG_CACHE_HOME or TMPDIR to a folder you own",
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
    private_folder(machines)
    folder = machines / digest
    if not folder.exists():
        _write(machines, folder, digest, tree)
    if reason := why_not_private(folder):  # programs believe what its files say
        raise PermissionError(f"{folder} {reason}")
    if (folder / _STAMP).read_text() != digest:
        raise FileNotFoundError(folder)
    return folder


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
