"""The platforms that wheels are built for."""

from __future__ import annotations

from dataclasses import dataclass

GLIBC = (2, 28)
"""The oldest that the libraries load with: RHEL 8, Debian 10 and Ubuntu 20.04 are as new."""


@dataclass(frozen=True)
class Target:
    """One platform: as people, zig, CMake and wheels call it."""

    name: str
    zig: str
    oldest_processor: str
    system: str
    processor: str
    platform_tag: str

    @property
    def tag(self) -> str:
        """What the wheel is for; the libraries have no interface of Python."""
        return f"py3-none-{self.platform_tag}"


def _linux(processor: str, oldest_processor: str) -> Target:
    major, minor = GLIBC
    return Target(
        name=f"linux-{processor}",
        zig=f"{processor}-linux-gnu.{major}.{minor}",
        oldest_processor=oldest_processor,
        system="Linux",
        processor=processor,
        platform_tag=f"manylinux_{major}_{minor}_{processor}",
    )


TARGETS = (
    _linux("x86_64", "x86_64"),
    _linux("aarch64", "generic"),
    Target(
        name="macos-arm64",
        zig="aarch64-macos.11.0",
        oldest_processor="apple_m1",
        system="Darwin",
        processor="arm64",
        platform_tag="macosx_11_0_arm64",
    ),
)
