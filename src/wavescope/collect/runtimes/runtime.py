"""A runtime in its folder: its manifest, what it holds, and how a program is started on it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from wavescope.collect.program_files import (
    ProgramKind,
    found_program,
    kind_of,
    named_in,
    program_and_arguments,
    spelled,
)
from wavescope.collect.runtimes.catalogue import catalogue
from wavescope.collect.runtimes.packages import Package
from wavescope.errors import MachineError, UsageError
from wavescope.model.progress import Tell, tell_nobody

ROOT = "root"
MANIFEST = "manifest.json"
_FORMAT = 1
_LIBRARY_FOLDERS = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "lib64", "usr/lib64")
_LOADER = "ld-linux-x86-64.so.2"
_HSA_RUNTIME = "libhsa-runtime64.so.1"
_STARTERS = frozenset({"bash", "dash", "env", "fish", "ksh", "mpirun", "sh", "srun", "zsh"})
_HIP_RUNTIME = re.compile(rb"libamdhip64\.so\.\d+")
_SHOWN_PACKAGES = (("ROCr", "libhsa-runtime64"), ("HIP", "libamdhip64"))


@dataclass(frozen=True)
class Manifest:
    """Where a runtime came from and what it holds."""

    name: str
    suite: str
    archive: str
    fetched_at: str
    packages: tuple[Package, ...]
    file_bytes: dict[str, int]
    """Sizes of the files that programs load, by path below the root."""


@dataclass(frozen=True)
class Runtime:
    """An unpacked runtime that was found whole."""

    folder: Path
    manifest: Manifest
    more_library_folders: tuple[str, ...] = ()
    """Folders below the root that its parts have besides the usual ones."""

    @property
    def name(self) -> str:
        """What it is asked for by: `6.4`, `6.4+llama`."""
        return self.manifest.name

    @property
    def root(self) -> Path:
        """The folder that is `/` to its packages."""
        return self.folder / ROOT

    @cached_property
    def library_folders(self) -> tuple[Path, ...]:
        """Where its libraries are, in the order of the search."""
        more = (self.root / name for name in self.more_library_folders)
        return (*library_folders(self.root), *filter(Path.is_dir, more))

    @property
    def loader(self) -> Path:
        """Its dynamic linker."""
        return loader_in(self.root)

    @property
    def versions(self) -> str:
        """Its versions for people: `ROCr 6.4.3, HIP 6.4.3`."""
        return ", ".join(
            f"{title} {package.upstream_version}"
            for title, start in _SHOWN_PACKAGES
            for package in self.manifest.packages
            if package.name.startswith(start)
        )

    def program(self, name: str, environment: Mapping[str, str]) -> Path | None:
        """The program that `name` means: one of the runtime's own before those on PATH."""
        if "/" not in name:
            own = self.root / "usr/bin" / name
            if own.is_file() and os.access(own, os.X_OK):
                return own
        return found_program(name, environment)

    def command(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        tell: Tell = tell_nobody,
    ) -> list[str]:
        """What to execute so that `command` runs on this runtime.

        Its dynamic linker is started and told the program. Variables would reach the program's
        children as well, whose own linker these libraries are not made for. `tell` hears when
        the program is one that only starts others, or was built for another HIP.
        """
        program = self.program(command[0], environment)
        if program is None:
            raise UsageError(
                f"there is no program '{command[0]}'",
                hint="check the spelling and PATH; a program here needs ./ before its name",
            )
        path, arguments = program_and_arguments(program, command, environment)
        if kind_of(path) is not ProgramKind.DYNAMIC:
            reason = (
                "is statically linked" if kind_of(path) is ProgramKind.STATIC else "is not an ELF"
            )
            raise UsageError(
                f"{path} cannot run on the runtime {self.name}: it {reason} program",
                hint="only dynamically linked programs and their scripts can use another runtime",
            )
        if path.name in _STARTERS:
            tell(
                f"'{command[0]}' is run by {path.name}: the programs that it starts run on the "
                f"machine's own ROCm, not on {self.name}; name such a program itself"
            )
        named, own = named_in(path, _HIP_RUNTIME), self._hip_runtimes()
        if named and own and not named & own:
            tell(
                f"'{command[0]}' was built for {min(named)}, and the runtime {self.name} has "
                f"{min(own)}: the machine's own may take its place, and fail; "
                "docs/runtimes.md#programs-for-another-version says how to build it"
            )
        folders = ":".join([*map(str, self.library_folders), *_given_folders(environment)])
        loader = [str(self.loader), "--library-path", folders]
        return [*loader, "--argv0", arguments[0], spelled(path), *arguments[1:]]

    def _hip_runtimes(self) -> frozenset[str]:
        """The names by which programs ask for its HIP."""
        names = (path.name for folder in self.library_folders for path in folder.iterdir())
        return frozenset(name for name in names if _HIP_RUNTIME.fullmatch(os.fsencode(name)))


def command_on(
    runtime: Runtime | None,
    command: Sequence[str],
    environment: Mapping[str, str],
    tell: Tell = tell_nobody,
) -> Sequence[str]:
    """What to execute so that `command` runs on `runtime`; None is the machine's own."""
    return command if runtime is None else runtime.command(command, environment, tell)


def opened_runtime(folder: Path) -> Runtime:
    """The runtime in `folder`; ValueError says what is missing or damaged."""
    manifest = read_manifest(folder)
    root = folder / ROOT
    if manifest.name != folder.name:
        raise ValueError(f"its manifest is that of {manifest.name!r}")
    for name, size in manifest.file_bytes.items():
        path = root / name
        if not path.is_file():
            raise ValueError(f"{name} is missing")
        if path.stat().st_size != size:
            raise ValueError(f"{name} does not have the size it had")
    require_whole(root)
    return Runtime(folder, manifest, _more_library_folders(manifest.name))


def _more_library_folders(name: str) -> tuple[str, ...]:
    try:
        parts = catalogue().wanted(name).known_parts
    except UsageError:  # made by hand
        return ()
    return tuple(folder for part in parts for folder in part.library_folders)


def loader_in(root: Path) -> Path:
    """The dynamic linker of a runtime that is whole."""
    return next(f / _LOADER for f in library_folders(root) if (f / _LOADER).is_file())


def require_whole(root: Path) -> None:
    """ValueError when `root` has no dynamic linker or no HSA runtime."""
    folders = library_folders(root)
    for name in (_LOADER, _HSA_RUNTIME):
        if not any((folder / name).is_file() for folder in folders):
            raise ValueError(f"{name} is missing")


def require_searchable(folder: Path) -> None:
    """An error when the dynamic linker would take the path of `folder` for several."""
    if any(character in str(folder) for character in ":;$"):
        raise MachineError(
            f"the dynamic linker cannot search {folder}: its name has a colon, ';' or '$'",
            hint="set WAVESCOPE_RUNTIMES to a folder whose name has none of them",
        )


def library_folders(root: Path) -> tuple[Path, ...]:
    """The folders below `root` where the dynamic linker of a system looks."""
    return tuple(root / name for name in _LIBRARY_FOLDERS if (root / name).is_dir())


def _given_folders(environment: Mapping[str, str]) -> list[str]:
    """What the user has the dynamic linker search; --library-path would replace it."""
    given = environment.get("LD_LIBRARY_PATH", "").replace(";", ":")
    return [folder for folder in given.split(":") if folder]


def sizes_of(root: Path, folders: Sequence[Path]) -> dict[str, int]:
    """Sizes of the regular files directly in `folders`."""
    return {
        str(path.relative_to(root)): path.stat().st_size
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.is_symlink()
    }


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of the runtime in `folder`."""
    text = json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=1)
    (folder / MANIFEST).write_text(text + "\n")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the runtime in `folder`; ValueError says what is wrong with it."""
    try:
        document = json.loads((folder / MANIFEST).read_bytes())
        if document.pop("format") != _FORMAT:
            raise ValueError("it was written by another version of wavescope")
        packages = tuple(Package(**package) for package in document.pop("packages"))
        manifest = Manifest(packages=packages, **document)
        _require_types(manifest)
    except OSError as error:
        raise ValueError(f"its manifest cannot be read: {error.strerror}") from error
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("its manifest lacks something") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError("its manifest is not JSON") from error
    return manifest


def _require_types(manifest: Manifest) -> None:
    """TypeError when a value is not of the type that the manifest declares."""
    texts = [manifest.name, manifest.suite, manifest.archive, manifest.fetched_at]
    for package in manifest.packages:
        texts += [package.name, package.version, package.architecture, package.sha256]
    numbers = [package.bytes for package in manifest.packages]
    if not isinstance(manifest.file_bytes, dict):
        raise TypeError("file_bytes")
    texts += list(manifest.file_bytes)
    numbers += list(manifest.file_bytes.values())
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("text")
    if not all(isinstance(number, int) for number in numbers):
        raise TypeError("number")
