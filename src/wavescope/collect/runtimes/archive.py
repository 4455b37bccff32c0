"""Which archive packages come from: the one in the machine's own apt sources, or a named mirror."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.machine import Machine
from wavescope.collect.runtimes.catalogue import Catalogue
from wavescope.errors import MachineError, UsageError

_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<address>\S+)\s+(?P<rest>.+)")
_SIGNED_BY = re.compile(r"(?:^|\s)signed-by=(\S+)", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?|file|copy|tor\+https?|mirror\+(?:https?|file)):/[!-~]+")
_KEYRING_PATH = re.compile(r"/[!-~]+")


@dataclass(frozen=True)
class Archive:
    """Where the suites are, and whose signatures count for them."""

    address: str
    keyrings: tuple[str, ...]


@dataclass(frozen=True)
class AptSource:
    """One enabled entry of binary packages in a machine's apt sources."""

    addresses: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: tuple[str, ...] = ()
    """Files with keys; other ways of naming keys are left out."""


def archive_of(machine: Machine, catalogue: Catalogue, mirror: str | None = None) -> Archive:
    """The archive to fetch from; an error when there is none, or no keys to check it by."""
    if mirror is not None:
        if not _ADDRESS.fullmatch(mirror):
            raise UsageError(
                f"{mirror!r} is not the address of an archive",
                hint="--mirror takes what an apt source takes: http://, https:// or file:/",
            )
        return Archive(mirror, _keyrings(machine, catalogue, ()))
    source = _debian_source(apt_sources(machine), catalogue)
    if source is None:
        raise MachineError(
            "apt on this machine knows no archive of Debian",
            hint="give one: wavescope softgpu --fetch RUNTIME --mirror URL",
        )
    return Archive(_usable(source)[0], _keyrings(machine, catalogue, source.signed_by))


def apt_sources(machine: Machine) -> list[AptSource]:
    """What the files of the machine's apt name, in the order in which apt reads them."""
    folder = machine.root / "etc/apt"
    found = list(one_line_sources(_text(folder / "sources.list")))
    for path in sorted((folder / "sources.list.d").glob("*")):
        if path.suffix == ".list":
            found += one_line_sources(_text(path))
        elif path.suffix == ".sources":
            found += stanza_sources(_text(path))
    return found


def one_line_sources(text: str) -> Iterator[AptSource]:
    """The sources of a file with lines `deb [options] ADDRESS SUITE COMPONENT...`."""
    for line in text.splitlines():
        found = _ONE_LINE.fullmatch(line.partition("#")[0].strip())
        if found is None:
            continue
        suite, *components = found["rest"].split()
        keys = _SIGNED_BY.search(found["options"] or "")
        named = keys[1].split(",") if keys else []
        yield AptSource((found["address"],), (suite,), tuple(components), _key_files(named))


def stanza_sources(text: str) -> Iterator[AptSource]:
    """The sources of a file with stanzas of fields, as `man 5 sources.list` describes them."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n\s*\n", "\n".join(lines)):
        fields = _fields(stanza)
        is_enabled = fields.get("enabled", "yes").lower() not in {"no", "false", "0", "off"}
        if "deb" in fields.get("types", "").split() and is_enabled:
            yield AptSource(
                tuple(fields.get("uris", "").split()),
                tuple(fields.get("suites", "").split()),
                tuple(fields.get("components", "").split()),
                _key_files(re.split(r"[\s,]+", fields.get("signed-by", ""))),
            )


def _fields(stanza: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line[:1].isspace():
            fields[name] = f"{fields.get(name, '')} {line.strip()}"
            continue
        name, _, value = line.partition(":")
        name = name.strip().lower()
        fields[name] = value.strip()
    return fields


def _key_files(named: list[str]) -> tuple[str, ...]:
    return tuple(name for name in named if _KEYRING_PATH.fullmatch(name))


def _debian_source(sources: list[AptSource], catalogue: Catalogue) -> AptSource | None:
    """The source of Debian itself; other vendors name their suites after Debian's too."""
    candidates = [
        source
        for source in sources
        if "main" in source.components and catalogue.suites & set(source.suites) and _usable(source)
    ]
    return min(candidates, key=_strangeness, default=None)


def _strangeness(source: AptSource) -> int:
    """0 for what is signed by Debian, 1 for what is called debian, 2 for anything else."""
    if any(Path(name).name.startswith("debian-archive-") for name in source.signed_by):
        return 0
    return 1 if _usable(source)[0].rstrip("/").endswith("/debian") else 2


def _usable(source: AptSource) -> list[str]:
    return [address for address in source.addresses if _ADDRESS.fullmatch(address)]


def _keyrings(
    machine: Machine, catalogue: Catalogue, signed_by: tuple[str, ...]
) -> tuple[str, ...]:
    """Debian's keys, and those by which the machine trusts this address."""
    debian = _existing(machine, catalogue.keyrings)[:1]
    others = [path for path in _existing(machine, signed_by) if path not in debian]
    if not debian and not others:
        raise MachineError(
            "the keys of Debian's archive are not on this machine, so nothing can be verified",
            hint="apt-get install debian-archive-keyring",
        )
    return (*debian, *others)


def _existing(machine: Machine, names: tuple[str, ...]) -> list[str]:
    paths = (machine.root / name.lstrip("/") for name in names)
    return [str(path) for path in paths if path.is_file()]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
