"""The runtimes that can be fetched, as `runtimes.toml` lists them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from wavescope.errors import UsageError
from wavescope.package_files import packaged_toml


@dataclass(frozen=True)
class KnownRuntime:
    """A runtime of one suite: which packages to ask for; apt adds what they depend on."""

    name: str
    suite: str
    holds: str
    packages: tuple[str, ...]
    upon: str | None = None
    """Where `suite` is no whole system: the one for all that is not named in `packages`."""
    parts: Mapping[str, KnownPart] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    """Packages that are not fetched, whatever depends on them."""

    @property
    def suites(self) -> tuple[str, ...]:
        """Where packages come from."""
        return (self.suite,) if self.upon is None else (self.suite, self.upon)


@dataclass(frozen=True)
class KnownPart:
    """Packages that are fetched with a runtime only when asked for."""

    holds: str
    packages: tuple[str, ...]
    library_folders: tuple[str, ...] = ()
    """Folders that its programs name by absolute paths: searched besides the usual ones."""
    plugin_folders: tuple[str, ...] = ()
    """Folders of libraries that its programs look for beside their executable."""
    program_folders: tuple[str, ...] = ()
    """Folders of programs that are not where programs usually are."""


@dataclass(frozen=True)
class WantedRuntime:
    """A runtime with the parts that were asked for: `6.4+llama`."""

    known: KnownRuntime
    parts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How it is written, and what its folder is called."""
        return "+".join((self.known.name, *self.parts))

    @property
    def packages(self) -> tuple[str, ...]:
        """All packages to ask apt for."""
        parts = (part.packages for part in self.known_parts)
        return self.known.packages + tuple(name for names in parts for name in names)

    @property
    def known_parts(self) -> tuple[KnownPart, ...]:
        """What is known of the parts."""
        return tuple(self.known.parts[part] for part in self.parts)


@dataclass(frozen=True)
class Catalogue:
    """What `runtimes.toml` says."""

    runtimes: Mapping[str, KnownRuntime]
    keyrings: tuple[str, ...]
    """Where Debian's keys may lie; the first that exists counts."""
    suites: frozenset[str]
    links: Mapping[str, str]
    """Names that libraries are also opened by, with the patterns of what these mean."""

    def wanted(self, name: str) -> WantedRuntime:
        """The runtime of a name such as `6.4` or `6.4+llama`."""
        base, *parts = name.split("+")
        known = self.runtimes.get(base)
        if known is None:
            names = ", ".join(self.runtimes)
            raise UsageError(f"there is no runtime {name!r} to fetch", hint=f"runtimes: {names}")
        for part in parts:
            if part not in known.parts:
                having = ", ".join(f"{base}+{name}" for name in known.parts) or "none"
                raise UsageError(
                    f"the runtime {base} has no part {part!r}", hint=f"there are: {having}"
                )
        return WantedRuntime(known, tuple(sorted(set(parts))))


@cache
def catalogue() -> Catalogue:
    """The runtimes that wavescope knows."""
    return _catalogue(packaged_toml("collect", "runtimes", "runtimes.toml"))


def _catalogue(document: dict[str, Any]) -> Catalogue:
    assumed = tuple(document["assumed"]["packages"])
    return Catalogue(
        {name: _runtime(name, entry, assumed) for name, entry in document["runtimes"].items()},
        tuple(document["debian"]["keyrings"]),
        frozenset(document["debian"]["suites"]),
        document["links"],
    )


def _runtime(name: str, entry: dict[str, Any], assumed: tuple[str, ...]) -> KnownRuntime:
    parts = {
        part: KnownPart(
            values["holds"],
            tuple(values["packages"]),
            tuple(values.get("library_folders", ())),
            tuple(values.get("plugin_folders", ())),
            tuple(values.get("program_folders", ())),
        )
        for part, values in entry.get("parts", {}).items()
    }
    return KnownRuntime(
        name,
        entry["suite"],
        entry["holds"],
        tuple(entry["packages"]),
        entry.get("upon"),
        parts,
        assumed,
    )
