"""What a kernel is: its category, the library it comes from, and a note that explains its name.

`meaning_of` depends on the name alone, so that one kernel means the same in every trace. The rules
are data (`rules/kernel_meanings.toml`); docs/categories.md defines the categories.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from wavescope.model.op_kinds import is_collective
from wavescope.model.rules_document import RulesDocument
from wavescope.names.cpp_name import LONGEST_NAME
from wavescope.names.demangle import demangle
from wavescope.names.kernel_names import LONGEST_MATCHED, NameRules, built_in_rules, readable_name

GEMM = "GEMM"
ATTENTION = "attention"
MOE = "MoE"
NORMALIZATION = "normalization"
ELEMENTWISE = "elementwise"
REDUCTION = "reduction"
QUANTIZATION = "quantization"
SAMPLING = "sampling"
COPY_FILL = "copy/fill"
COMMUNICATION = "communication"
OTHER = "other"

CATEGORIES = (
    GEMM,
    ATTENTION,
    MOE,
    NORMALIZATION,
    ELEMENTWISE,
    REDUCTION,
    QUANTIZATION,
    SAMPLING,
    COPY_FILL,
    COMMUNICATION,
    OTHER,
)

# There are many rules on short names, and each must end soon on hostile ones too.
_LONGEST_SHORT = 512

_OPTIONAL_PART = re.compile(r"\[([^\]]*)\]")
_GROUP = re.compile(r"\\(\d)")


_compiled = functools.cache(re.compile)


class KernelMeaning(NamedTuple):
    """What a kernel is; `family` and `note` are empty where nothing is known."""

    category: str
    family: str
    note: str


class _MeaningRule(NamedTuple):
    """A rule on the demangled or on the short name.

    Its pattern is compiled when a name first meets it: most names find an early rule.
    """

    pattern: str
    on_short_name: bool
    category: str
    family: str
    note: str

    def apply(self, demangled: str, short: str) -> KernelMeaning | None:
        subject, end = (
            (short, _LONGEST_SHORT) if self.on_short_name else (demangled, LONGEST_MATCHED)
        )
        found = _compiled(self.pattern).search(subject, 0, end)
        if found is None:
            return None
        return KernelMeaning(self.category, self.family, expanded_note(self.note, found))


def expanded_note(template: str, found: re.Match[str]) -> str:
    """Return the note with \\1 filled in, without the bracketed parts whose groups are empty."""

    def kept(part: re.Match[str]) -> str:
        groups = [int(number) for number in _GROUP.findall(part.group(1))]
        return part.group(1) if all(found.group(number) for number in groups) else ""

    return found.expand(_OPTIONAL_PART.sub(kept, template)).strip()


def meaning_of(full_name: str) -> KernelMeaning:
    """Return what the kernel with that name is, as far as its name tells."""
    # Hostile names may be of any length: they are not kept.
    return _remembered_meaning(full_name) if len(full_name) <= LONGEST_NAME else _meaning(full_name)


@dataclass
class CategoryRules:
    """A user's rules, tried in order before the built-in ones.

    They are read from the same file as `NameRules`: a rule with a category decides it, and its
    note, if it has one, explains the kernel.
    """

    names: NameRules = field(default_factory=NameRules)
    _known: dict[str, KernelMeaning] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_document(cls, document: RulesDocument) -> CategoryRules:
        """Return the rules of a document with `[[rule]]` tables: match, name, category, note."""
        return cls(NameRules.from_document(document))

    def meaning_of(self, full_name: str) -> KernelMeaning:
        """Return what the kernel is: as the user's rules say, else as the built-in ones do."""
        found = self._known.get(full_name)
        if found is None:
            found = self._known[full_name] = self._find(full_name)
        return found

    def _find(self, full_name: str) -> KernelMeaning:
        demangled = demangle(full_name)
        built_in = meaning_of(full_name)
        for rule in self.names.rules:
            found = rule.pattern.search(demangled, 0, LONGEST_MATCHED)
            if found is not None and (rule.category or rule.note):
                note = expanded_note(rule.note, found) if rule.note else built_in.note
                return KernelMeaning(rule.category or built_in.category, built_in.family, note)
        return built_in


def _meaning(full_name: str) -> KernelMeaning:
    demangled, short = demangle(full_name), readable_name(full_name)
    rules, collective_rules, _ = _built_in()
    communicates = is_collective(full_name)
    for rule in collective_rules if communicates else rules:
        found = rule.apply(demangled, short)
        if found is not None:
            return found if found.family else found._replace(family=_family(demangled))
    return KernelMeaning(COMMUNICATION if communicates else OTHER, _family(demangled), "")


_remembered_meaning = functools.lru_cache(maxsize=4_096)(_meaning)


def _family(demangled: str) -> str:
    for pattern, family in _built_in().families:
        if _compiled(pattern).search(demangled, 0, LONGEST_MATCHED):
            return family
    return ""


class _BuiltIn(NamedTuple):
    """The rules of the package."""

    rules: tuple[_MeaningRule, ...]
    collective_rules: tuple[_MeaningRule, ...]
    families: tuple[tuple[str, str], ...]


@functools.lru_cache(maxsize=1)
def _built_in() -> _BuiltIn:
    document = built_in_rules("names", "rules", "kernel_meanings.toml")
    rules = tuple(
        _MeaningRule(
            rule.get("match") or rule["short"],
            "short" in rule,
            rule["category"],
            rule.get("family", ""),
            rule["note"],
        )
        for rule in document["rule"]
    )
    families = document["families"].items()
    return _BuiltIn(
        tuple(rule for rule in rules if rule.category != COMMUNICATION),
        tuple(rule for rule in rules if rule.category == COMMUNICATION),
        tuple(families),
    )
