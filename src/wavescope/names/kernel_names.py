"""Readable kernel names: what people recognise instead of what compilers write.

`short_name` depends on the name alone, so that one kernel is called the same in every trace.
"""

from __future__ import annotations

import functools
import re
import sys
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wavescope.errors import UsageError
from wavescope.model.rules_document import RulesDocument
from wavescope.names.cpp_name import LONGEST_NAME
from wavescope.names.demangle import demangle
from wavescope.names.template_names import TemplateNames, TemplateTables
from wavescope.package_files import package_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# A pattern sees at most so much of a name, which bounds its time on hostile ones.
LONGEST_MATCHED = 4_096
LONGEST_SHORT = 84
RULE_KEYS = ("match", "name", "category", "note")


class NameRule(NamedTuple):
    """Names that `pattern` finds become `name`, in which \\1 is what its first group matched.

    A rule without a name only says what the kernels are: their category, and a note on them.
    """

    pattern: re.Pattern[str]
    name: str
    category: str = ""
    note: str = ""

    def apply(self, demangled: str) -> str:
        """Return the new name, or an empty text when the rule does not match."""
        found = self.pattern.search(demangled, 0, LONGEST_MATCHED) if self.name else None
        return found.expand(self.name) if found else ""


class NamedKernel(NamedTuple):
    """The group a kernel belongs to, and the category its rule gives (or none)."""

    name: str
    category: str = ""


@dataclass
class NameRules:
    """A user's rules, tried in order before the built-in names."""

    rules: tuple[NameRule, ...] = ()
    _known: dict[str, NamedKernel] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_document(cls, document: RulesDocument) -> NameRules:
        """Return the rules of a document with `[[rule]]` tables: match, name, category, note."""
        entries = document.content.get("rule", [])
        if not isinstance(entries, list) or not set(document.content) <= {"rule"}:
            raise UsageError(
                f"{document.path} holds something other than [[rule]] tables",
                hint='write [[rule]], match = "REGEX", name = "NAME" for each group',
            )
        return cls(
            tuple(_rule(entry, f"{document.path}, rule {i}") for i, entry in enumerate(entries, 1))
        )

    def named(self, full: str) -> NamedKernel:
        """Return the group and category of one kernel."""
        found = self._known.get(full)
        if found is None:
            found = self._known[full] = self._find(full)
        return found

    def group(self, names: Iterable[str]) -> list[str]:
        """Return the group of every name, in order."""
        return [self.named(name).name for name in names]

    def _find(self, full: str) -> NamedKernel:
        demangled = demangle(full)
        for rule in self.rules:
            name = rule.apply(demangled)
            if name:
                return NamedKernel(name, rule.category)
        return NamedKernel(short_name(full))


def short_name(full: str) -> str:
    """Return the name people know a kernel by; a name that is short already stays as it is."""
    name = readable_name(full)
    return name if name == full else _cut(name)


def readable_name(full: str) -> str:
    """The same, however long: a compiler may have fused dozens of operators into a kernel."""
    # Hostile names may be of any length: they are not kept.
    return _remembered_name(full) if len(full) <= LONGEST_NAME else _readable_name(full)


def _cut(name: str) -> str:
    """A name that rules made without its middle, if it is long; others stay different from it."""
    if len(name) <= LONGEST_SHORT:
        return name
    mark = f"…{zlib.crc32(name.encode(errors='replace')) & 0xFFFF:04x}…"
    room = LONGEST_SHORT - len(mark)
    return name[: room - room // 3] + mark + name[-(room // 3) :]


def _readable_name(full: str) -> str:
    demangled = demangle(full)
    rules, templates = _built_in()
    for rule in rules:
        name = rule.apply(demangled)
        if name:
            return name
    return templates.short(demangled) or full


_remembered_name = functools.lru_cache(maxsize=4_096)(_readable_name)


@functools.lru_cache(maxsize=1)
def _built_in() -> tuple[tuple[NameRule, ...], TemplateNames]:
    document = built_in_rules("names", "rules", "kernel_names.toml")
    # Not checked as a user's are: a test does that once, where it costs no start-up time.
    rules = tuple(NameRule(re.compile(rule["match"]), rule["name"]) for rule in document["rule"])
    return rules, TemplateNames(TemplateTables.from_document(document))


def built_in_rules(*parts: str) -> dict[str, Any]:
    """Return a TOML file that is installed with the package, at `parts` below it."""
    path = package_file(*parts)
    assert path is not None, "the package was installed without its rules"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _rule(entry: object, where: str) -> NameRule:
    """Return the rule of one table, or say which rule of which file is wrong and why."""
    if not isinstance(entry, Mapping):
        raise UsageError(f"{where}: not a table")
    unknown = set(entry) - set(RULE_KEYS)
    if unknown:
        raise UsageError(
            f"{where}: unknown key {sorted(map(str, unknown))[0]!r}",
            hint="a rule has match and some of name, category and note",
        )
    texts = {key: entry.get(key, "") for key in RULE_KEYS}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise UsageError(f"{where}: {key} must be text")
    if not texts["match"] or not (texts["name"] or texts["category"] or texts["note"]):
        raise UsageError(f"{where}: needs match, and one of name, category and note")
    try:
        pattern = re.compile(texts["match"])
        # The same groups, but matching nothing: a name that refers to a group the pattern lacks
        # fails here instead of at the first kernel it applies to.
        matching_nothing = re.compile(texts["match"] + "\n|").match("")
        if matching_nothing is not None:
            matching_nothing.expand(texts["name"])
            matching_nothing.expand(texts["note"])
    except (re.error, RecursionError, OverflowError, IndexError) as error:
        raise UsageError(f"{where}: {error}") from error
    return NameRule(pattern, texts["name"], texts["category"], texts["note"])
