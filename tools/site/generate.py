"""Writes what the documentation site is built from: the repository's pages, and generated ones.

Pages keep their places, so that links between them hold. Every page and file that README.md leads
to is taken; commands get a page each, public names of Python a page for all. The navigation is that
of the README's last section. Run by `make site`: `generate.py FOLDER` writes FOLDER/pages and
FOLDER/mkdocs.yml.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.generate_docs import commands_overview, described_command  # noqa: E402
from tools.site.python_reference import python_reference  # noqa: E402
from wavescope.cli.commands import COMMANDS, GROUPS, CommandEntry  # noqa: E402

LINK = re.compile(r"(\]\()([^)#\s]*)((?:#[^)]*)?\))")
GROUP = re.compile(r"^- (\w+): (.*(?:\n  .*)*)", re.MULTILINE)
TITLED = re.compile(r"\[([^\]]+)\]\(([^)#\s]+\.md)\)")
OVERVIEW = "docs/commands.md"
REFERENCE = "docs/python-reference.md"


@dataclass
class Site:
    """Pages by place, files that they lead to, and each page's group in the navigation."""

    pages: dict[str, str] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    group_of: dict[str, str] = field(default_factory=dict)


def collected_site() -> Site:
    """Everything that README.md leads to, and what is generated."""
    site = Site()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for group, links in GROUP.findall(readme.partition("## Read on")[2]):
        site.group_of.update((place, group) for _, place in TITLED.findall(links))
    _take(site, "README.md", "")
    site.group_of[OVERVIEW] = "Commands"
    site.pages[OVERVIEW] = commands_overview()
    for entry in COMMANDS:
        site.pages[command_place(entry)] = described_command(entry)
        site.group_of[command_place(entry)] = "Commands"
    site.pages[REFERENCE] = python_reference()
    site.group_of[REFERENCE] = "Use"
    site.pages = {place: adapted(place, text) for place, text in site.pages.items()}
    return site


def _take(site: Site, first: str, group: str) -> None:
    """Follow links from a page, breadth first; a page without a group joins that of its finder."""
    ahead = [(first, group)]
    for place, found_in in ahead:
        if place in site.pages or place in site.files or not (ROOT / place).is_file():
            continue
        if not place.endswith(".md"):
            site.files.add(place)
            continue
        text = (ROOT / place).read_text(encoding="utf-8")
        site.pages[place] = text
        own = site.group_of.setdefault(place, found_in or "Build")
        ahead += [(_resolved(place, target), own) for _, target, _ in LINK.findall(text) if target]


def _resolved(place: str, target: str) -> str:
    """Where a link of a page leads, from the root; nowhere for addresses."""
    if "://" in target:
        return "://"
    parts: list[str] = []
    for part in (PurePosixPath(place).parent / target).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def command_place(entry: CommandEntry) -> str:
    """The place of a command's page."""
    return f"docs/commands/{entry.name.replace(' ', '-')}.md"


def adapted(place: str, text: str) -> str:
    """A page as the site needs it: links to commands lead to their pages, tables in lists nest."""
    text = re.sub(r"^  \|", "    |", text, flags=re.MULTILINE)
    return LINK.sub(lambda link: _adapted_link(place, *link.groups()), text)


def _adapted_link(place: str, head: str, target: str, tail: str) -> str:
    names = {f"#wavescope-{each.name.replace(' ', '-')})": command_place(each) for each in COMMANDS}
    in_commands = place == OVERVIEW or place.startswith("docs/commands/")
    about_commands = _resolved(place, target) == OVERVIEW or (not target and in_commands)
    if about_commands and tail in names:
        return f"{head}{_relative(names[tail], place)})"
    if place.startswith("docs/commands/") and target and "://" not in target:
        return f"{head}{_relative(f'docs/{target}', place)}{tail}"
    return head + target + tail


def _relative(target: str, place: str) -> str:
    depth = len(PurePosixPath(place).parts) - 1
    return "../" * depth + target


def navigation(site: Site) -> list[dict[str, object]]:
    """The groups in the README's order, each page with its first heading."""
    groups: dict[str, list[dict[str, object]]] = {}
    for place, group in site.group_of.items():
        if place in site.pages and group != "Commands" and place != "README.md":
            groups.setdefault(group, []).append({_title(site.pages[place]): place})
    commands: list[dict[str, object]] = [{"All commands": OVERVIEW}]
    for group, entries in GROUPS.items():
        commands.append({group: [{entry.name: command_place(entry)} for entry in entries]})
    return [
        {"wavescope": "README.md"},
        *({group: pages} for group, pages in groups.items()),
        {"Commands": commands},
    ]


def _title(text: str) -> str:
    found = re.search(r"^# (.*)$", text, re.MULTILINE)
    return found[1].replace("`", "") if found else "untitled"


def configuration(site: Site, folder: Path) -> dict[str, object]:
    """What mkdocs is told: strict about links and anchors, nothing from other hosts."""
    return {
        "site_name": "wavescope",
        "docs_dir": str(folder / "pages"),
        "site_dir": str(ROOT / "build" / "site"),
        "use_directory_urls": False,
        "theme": {"name": "readthedocs", "highlightjs": False, "navigation_depth": 3},
        "plugins": ["search"],
        "hooks": [str(ROOT / "tools" / "site" / "github_anchors.py")],
        "markdown_extensions": ["tables", "fenced_code", "sane_lists", "toc"],
        "nav": navigation(site),
        "strict": True,
        "validation": dict.fromkeys(
            ("omitted_files", "absolute_links", "unrecognized_links", "anchors"), "warn"
        ),
    }


def write_site(site: Site, folder: Path) -> None:
    """Write the pages, the files they lead to, and the configuration."""
    for place, text in site.pages.items():
        path = folder / "pages" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for place in site.files:
        path = folder / "pages" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / place).read_bytes())
    written = json.dumps(configuration(site, folder), indent=1)
    (folder / "mkdocs.yml").write_text(written, encoding="utf-8")  # JSON is YAML


if __name__ == "__main__":
    write_site(collected_site(), Path(sys.argv[1]).resolve())
