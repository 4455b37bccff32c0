"""apt with a configuration of its own: nothing of the system is changed, and no root is needed.

The machine's configuration still counts where it says how to reach an archive (proxies,
credentials). What it says about trust does not: unsigned archives are refused in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from wavescope.collect.runtimes.archive import Archive
from wavescope.collect.runtimes.catalogue import WantedRuntime
from wavescope.collect.runtimes.packages import run_bounded
from wavescope.errors import MachineError

_LISTS_LIMIT_S = 600
_PACKAGES_LIMIT_S = 3600
ARCHITECTURE = "amd64"

# Lists can only be emptied in a file. The hooks are for the system's own state.
_CONFIGURATION = f"""\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear APT::Architectures;
APT::Architectures {{ "{ARCHITECTURE}"; }};
"""
_REFUSED = (
    "APT::Get::AllowUnauthenticated",
    "Acquire::AllowInsecureRepositories",
    "Acquire::AllowWeakRepositories",
    "Acquire::AllowDowngradeToInsecureRepositories",
)
_SETTINGS = {
    "APT::Architecture": ARCHITECTURE,
    "APT::Default-Release": "",
    "APT::Install-Recommends": "false",
    "APT::Install-Suggests": "false",
    "APT::Sandbox::User": "root",
    "APT::Update::Error-Mode": "any",
    "Acquire::Retries": "2",
    "Acquire::http::Timeout": "60",
    "Acquire::https::Timeout": "60",
    **dict.fromkeys(_REFUSED, "false"),
}
_BAD_SIGNATURE = re.compile(
    r"NO_PUBKEY|EXPKEYSIG|REVKEYSIG|BADSIG|Missing key|couldn.t be verified|could not be verified"
)
_UNSIGNED = re.compile(r"^(?!.*^E: Failed to fetch).*is not signed", re.DOTALL | re.MULTILINE)
"""What cannot be fetched has no signature either: then that is not the trouble."""
_NO_SUITE = re.compile(r"does not have a Release file|404 +Not Found", re.IGNORECASE)
_BROKEN = re.compile(r"held broken packages|unmet dependencies")
_NO_PACKAGE = re.compile(r"Unable to locate package (\S+)|Package '?(\S+?)'? has no installation")


class PrivateApt:
    """apt for a runtime's suites of one archive, with all its files below `folder`."""

    def __init__(self, folder: Path, archive: Archive, wanted: WantedRuntime) -> None:
        self._folder = folder
        self._archive = archive
        self._wanted = wanted
        for name in ("sources", "state/lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        (folder / "apt.conf").write_text(_CONFIGURATION)
        (folder / "status").write_text("".join(map(_installed, wanted.known.assumed)))
        (folder / "preferences").write_text(_preference(wanted))
        (folder / "sources/runtime.sources").write_text(_source(archive, wanted.known.suites))

    def update(self) -> None:
        """Read the suites' lists of packages and check their signatures."""
        self._run(["update"], _LISTS_LIMIT_S)

    def sizes(self) -> list[int]:
        """Bytes of each package of the runtime and of what these need."""
        arguments = ["install", "--print-uris", "-qq", *self._wanted.packages]
        output = self._run(arguments, _LISTS_LIMIT_S)
        found = re.findall(r"^'[^']*' \S+\.deb (\d+)", output, re.MULTILINE)
        return [int(size) for size in found]

    def download(self, fetched: Callable[[int], None]) -> list[Path]:
        """Fetch the runtime's packages and what they need; apt checks each by the signed lists.

        `fetched` hears every few seconds how many bytes are there.
        """
        folder = self._folder / "cache/archives"
        arguments = ["install", "--download-only", "-q", *self._wanted.packages]
        self._run(arguments, _PACKAGES_LIMIT_S, lambda: fetched(_bytes_below(folder)))
        return sorted(folder.glob("*.deb"))

    def _run(
        self, arguments: Sequence[str], limit_s: float, waited: Callable[[], None] | None = None
    ) -> str:
        places = {
            "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": str(self._folder / "sources"),
            "Dir::Etc::preferences": str(self._folder / "preferences"),
            "Dir::Etc::preferencesparts": "/dev/null",
            "Dir::State": str(self._folder / "state"),
            "Dir::State::status": str(self._folder / "status"),
            "Dir::Cache": str(self._folder / "cache"),
            "Dir::Log": str(self._folder / "log"),
        }
        options = [f"-o{name}={value}" for name, value in {**places, **_SETTINGS}.items()]
        command = ["apt-get", "-c", str(self._folder / "apt.conf"), *options, "--yes", *arguments]
        end = run_bounded(command, limit_s, waited)
        if end.status:
            raise self._error(end.output)
        return end.output

    def _error(self, output: str) -> MachineError:
        suites = self._wanted.known.suites
        noun = "suite" if len(suites) == 1 else "suites"
        place = f"the {noun} {' and '.join(suites)} of {self._archive.address}"
        if _BAD_SIGNATURE.search(output) or _UNSIGNED.match(output):
            keyrings = ", ".join(self._archive.keyrings)
            return MachineError(
                f"the signature of {place} cannot be verified by {keyrings}",
                hint="the keys may be too old: apt-get install debian-archive-keyring",
            )
        if _NO_SUITE.search(output):
            return MachineError(
                f"{place} is not there", hint="choose another archive with --mirror"
            )
        if found := _NO_PACKAGE.search(output):
            return MachineError(f"{place} has no package {found[1] or found[2]}")
        if _BROKEN.search(output):
            return MachineError(
                f"packages of {place} do not fit together at present",
                hint="suites that are being worked on are whole again after some days",
            )
        reasons = [line[3:] for line in output.splitlines() if line.startswith("E: ")]
        reason = reasons[0] if reasons else "apt-get failed"
        return MachineError(
            f"{place} cannot be fetched: {reason}", hint="check the network connection"
        )


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*.deb"):
        with suppress(FileNotFoundError):  # apt moves a package when it is whole
            total += path.stat().st_size
    return total


def _source(archive: Archive, suites: Sequence[str]) -> str:
    # Of `file:` apt would use the packages where they are, and put none into its cache.
    address = re.sub(r"^file:", "copy:", archive.address)
    return (
        "Types: deb\n"
        f"URIs: {address}\n"
        f"Suites: {' '.join(suites)}\n"
        "Components: main\n"
        f"Architectures: {ARCHITECTURE}\n"
        "Targets: Packages\n"
        f"Signed-By: {' '.join(archive.keyrings)}\n"
    )


def _preference(wanted: WantedRuntime) -> str:
    """That a runtime's packages come from its suite, however apt ranks that among others."""
    names = " ".join(wanted.packages)
    return f"Package: {names}\nPin: release a={wanted.known.suite}\nPin-Priority: 900\n"


def _installed(package: str) -> str:
    return (
        f"Package: {package}\n"
        "Status: install ok installed\n"
        "Version: 999999\n"
        f"Architecture: {ARCHITECTURE}\n"
        "Multi-Arch: allowed\n"
        "Description: taken for installed\n\n"
    )
