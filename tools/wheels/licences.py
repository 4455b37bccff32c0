"""`python -m tools.wheels.licences` writes docs/licences.md: every licence of every component."""

from __future__ import annotations

from pathlib import Path

from tools.wheels.components import Component, Role, all_components

PAGE = Path(__file__).resolve().parents[2] / "docs" / "licences.md"
_HEAD = """# Licences

wavescope is under the MIT licence, and its wheels hold no file of anyone else. What they need, and
what is inside their libraries, is under the licences below; each wheel has the same list as
CycloneDX (`.dist-info/sboms/`, and beside it in `dist/`). This page is written from
`tools/wheels/components.toml` by `python -m tools.wheels.licences`; tests compare it with what the
installed packages say of themselves.
"""
_DEPENDENCIES = "Installed by pip as packages of their own. Versions are the newest tested ones."
_LINKED = """\
The LLVM exception and the permission of glibc's files are made for code that a compiler or linker
puts into programs: neither asks for a notice. A build from source has the compiler's own libraries
instead."""
_SECTIONS = (
    (Role.DEPENDENCY, "Needed to run", _DEPENDENCIES),
    (Role.OPTIONAL, "Optional", "Installed only when asked for."),
    (Role.LINKED, "Linked into the libraries of the wheels", _LINKED),
    (Role.TOOL, "Tools that build and check the wheels", "Nothing of them is in a wheel."),
)


def page() -> str:
    """The text of the page."""
    components = all_components()
    sections = [
        _section(title, remark, [part for part in components if part.role is role])
        for role, title, remark in _SECTIONS
    ]
    return "\n".join((_HEAD, *sections))


def _section(title: str, remark: str, components: list[Component]) -> str:
    rows = [
        f"| {part.name} | {part.version} | {part.licence} | {part.purpose} |" for part in components
    ]
    head = ("| what | version | licence | for |", "|---|---|---|---|")
    return "\n".join((f"## {title}", "", remark, "", *head, *rows, ""))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
