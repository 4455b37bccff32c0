"""Which archive a machine's apt sources name, in both of their spellings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.collect.test_preflight import a_machine
from wavescope.collect.machine import Machine
from wavescope.collect.runtimes.archive import (
    AptSource,
    Archive,
    archive_of,
    one_line_sources,
    stanza_sources,
)
from wavescope.collect.runtimes.catalogue import catalogue
from wavescope.errors import MachineError, UsageError

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def a_debian(root: Path, sources: dict[str, str], *keyrings: str) -> Machine:
    for name, text in sources.items():
        path = root / "etc/apt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in keyrings or (KEYRING,):
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return a_machine(root)


def address_of(root: Path, sources: dict[str, str]) -> str:
    return archive_of(a_debian(root, sources), catalogue()).address


def test_lines_and_their_options_are_read() -> None:
    text = (
        "# deb http://old/debian bookworm main\n"
        "deb-src http://a/debian bookworm main\n"
        "deb [arch=amd64 signed-by=/k/one.gpg,/k/two.gpg] http://a/debian bookworm main contrib # own\n"
        "  deb\thttp://b/debian   trixie  main\n"
        "deb [trusted=yes]http://c/ ./\n"
        "deb http://d\n"
    )

    assert list(one_line_sources(text)) == [
        AptSource(("http://a/debian",), ("bookworm",), ("main", "contrib"), ("/k/one.gpg", "/k/two.gpg")),
        AptSource(("http://b/debian",), ("trixie",), ("main",)),
        AptSource(("http://c/",), ("./",), ()),
    ]  # fmt: skip


def test_stanzas_are_read() -> None:
    text = (
        "# a comment\nTypes: deb deb-src\n# another\nURIs: http://a/debian\n http://b/debian\n"
        "Suites: bookworm bookworm-updates\nComponents: main\nSigned-By: /k/one.gpg\n"
        "\n \n"
        "types: deb\nuris: http://c\nsuites: sid\ncomponents: main\nEnabled: no\n"
        "\n"
        "Types: deb-src\nURIs: http://d\nSuites: sid\nComponents: main\n"
        "\n"
        "Types: deb\nURIs: http://e\nSuites: sid\nComponents: main\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc/def\n"
    )

    assert list(stanza_sources(text)) == [
        AptSource(
            ("http://a/debian", "http://b/debian"),
            ("bookworm", "bookworm-updates"),
            ("main",),
            ("/k/one.gpg",),
        ),
        AptSource(("http://e",), ("sid",), ("main",)),
    ]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"sources.list": "deb http://m/debian bookworm main"}, "http://m/debian"),
        (
            {"sources.list.d/d.sources": "Types: deb\nURIs: http://m/x\nSuites: sid\nComponents: main"},
            "http://m/x",
        ),
        (  # another vendor's suite is called like Debian's
            {
                "sources.list.d/a.list": "deb https://vendor.example bookworm main",
                "sources.list.d/b.list": "deb http://m/debian/ bookworm main",
            },
            "http://m/debian/",
        ),
        (  # what Debian has signed is Debian, whatever it is called
            {
                "sources.list.d/a.list": "deb http://m/debian bookworm main",
                "sources.list.d/b.list": f"deb [signed-by={KEYRING}] http://n/pool bookworm main",
            },
            "http://n/pool",
        ),
        (  # security updates are no archive of suites
            {
                "sources.list": "deb http://m/debian-security bookworm-security main\n"
                "deb http://m/debian bookworm main"
            },
            "http://m/debian",
        ),
        (
            {
                "sources.list": "deb cdrom:[disc]/ bookworm main\ndeb http://m/debian bookworm main",
                "sources.list.d/x.save": "deb http://n/debian bookworm main",
            },
            "http://m/debian",
        ),
    ],
)  # fmt: skip
def test_the_archive_of_debian_is_found(
    sources: dict[str, str], expected: str, tmp_path: Path
) -> None:
    assert address_of(tmp_path, sources) == expected


def test_without_an_archive_of_debian_a_mirror_must_be_named(tmp_path: Path) -> None:
    machine = a_debian(tmp_path, {"sources.list": "deb http://archive.example noble main"})

    with pytest.raises(MachineError, match="knows no archive of Debian") as raised:
        archive_of(machine, catalogue())
    assert "--mirror URL" in raised.value.hint
    keyring = str(tmp_path / KEYRING.lstrip("/"))
    assert archive_of(machine, catalogue(), "https://m/debian") == Archive(
        "https://m/debian", (keyring,)
    )


def test_the_keys_that_the_machine_trusts_for_the_address_count_too(tmp_path: Path) -> None:
    sources = {
        "sources.list": "deb [signed-by=/k/own.gpg,/k/gone.gpg] http://m/debian bookworm main"
    }
    machine = a_debian(tmp_path, sources, KEYRING, "/k/own.gpg")

    assert archive_of(machine, catalogue()).keyrings == (
        str(tmp_path / KEYRING.lstrip("/")),
        str(tmp_path / "k/own.gpg"),
    )


def test_without_keys_nothing_is_fetched(tmp_path: Path) -> None:
    machine = a_debian(tmp_path, {"sources.list": "deb http://m/debian bookworm main"}, "/other")

    with pytest.raises(MachineError, match="keys of Debian's archive") as raised:
        archive_of(machine, catalogue())
    assert raised.value.hint == "apt-get install debian-archive-keyring"


@pytest.mark.parametrize(
    "mirror",
    [
        "",
        "debian",
        "http://m/debian\nTrusted: yes",
        "http://m/a b",
        "cdrom:[x]/",
        "http:",
        "exec:/bin/sh",
        "-o=x",
    ],
)
def test_addresses_that_are_none_are_refused(mirror: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not the address of an archive"):
        archive_of(a_debian(tmp_path, {}), catalogue(), mirror)


def test_a_source_with_a_hostile_address_is_passed_over(tmp_path: Path) -> None:
    sources = {"sources.list": "deb exec:/bin/sh bookworm main\ndeb http://m/debian bookworm main"}

    assert address_of(tmp_path, sources) == "http://m/debian"
