"""What a runtime's folder says about itself: its packages, and the files that must be there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from wavescope.collect.runtimes.bounded_command import run_bounded
from wavescope.errors import MachineError

MANIFEST = "manifest.json"
_FORMAT = 1
_LIMIT_S = 60


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


def package_of(path: Path) -> Package:
    """What a package file says it is, with its hash."""
    end = run_bounded(["dpkg-deb", "-f", str(path), "Package", "Version", "Architecture"], _LIMIT_S)
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
