"""Kernel names: what people recognise instead of what compilers write, and what a kernel is.

`short_name` and `meaning_of` (category, library, an explaining note) depend on the name alone, so
that one kernel is the same in every trace. The rules are data (`rules/*.toml`); docs/categories.md
defines the categories.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from wavescope.errors import UsageError
from wavescope.model.op_kinds import is_collective
from wavescope.names.cpp_name import LONGEST_NAME
from wavescope.names.demangle import demangle
from wavescope.names.kernel_words import LONGEST_WORDS, NameWords, words_of_name
from wavescope.names.template_names import TemplateNames, TemplateTables
from wavescope.package_files import packaged_toml
from wavescope.patterns import compiled

if TYPE_CHECKING:
    from wavescope.model.toml_files import RulesDocument

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


def kernel_key(full: str) -> str:
    """Return one text for all spellings of a kernel's name, to find it in files of other tools.

    A name may be mangled or not, end with what marks its descriptor (`.kd`, `[clone .kd]`,
    `(.kd)`), and have blanks and a return type where another tool writes none.
    """
    return _BLANK_BESIDE_MARK.sub("", demangle(full.strip())).removeprefix("void ")


_BLANK_BESIDE_MARK = re.compile(r"(?<=[<>(),*&]) +| +(?=[<>(),*&])")


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
    head, tail = name[: room - room // 3], name[-(room // 3) :]
    # Whole words only, unless they are endless: half of a word is another word.
    head = head[: head.rfind("_", len(head) // 2) + 1] or head
    return head + mark + tail[max(tail.find("_", 0, len(tail) // 2), 0) :]


def _readable_name(full: str) -> str:
    demangled = demangle(full)
    rules, templates = _built_in_names()
    for rule in rules:
        name = rule.apply(demangled)
        if name:
            return name
    return templates.short(demangled) or full


_remembered_name = functools.lru_cache(maxsize=4_096)(_readable_name)


@functools.lru_cache(maxsize=1)
def _built_in_names() -> tuple[tuple[NameRule, ...], TemplateNames]:
    document = packaged_toml("names", "rules", "kernel_names.toml")
    # Not checked as a user's are: a test does that once, where it costs no start-up time.
    rules = tuple(NameRule(re.compile(rule["match"]), rule["name"]) for rule in document["rule"])
    return rules, TemplateNames(TemplateTables.from_document(document))


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
    pattern = compiled(texts["match"], where)
    try:
        # The same groups, but matching nothing: a name that refers to a group the pattern lacks
        # fails here instead of at the first kernel it applies to.
        matching_nothing = re.compile(texts["match"] + "\n|").match("")
        if matching_nothing is not None:
            matching_nothing.expand(texts["name"])
            matching_nothing.expand(texts["note"])
    except (re.error, RecursionError, OverflowError, IndexError) as error:
        raise UsageError(f"{where}: {error}") from error
    return NameRule(pattern, texts["name"], texts["category"], texts["note"])


GEMM = "GEMM"
CONVOLUTION = "convolution"
ATTENTION = "attention"
MOE = "MoE"
NORMALIZATION = "normalization"
SOFTMAX = "softmax"
EMBEDDING = "embedding"
ELEMENTWISE = "elementwise"
REDUCTION = "reduction"
QUANTIZATION = "quantization"
SAMPLING = "sampling"
COPY_FILL = "copy/fill"
COMMUNICATION = "communication"
OTHER = "other"

CATEGORIES = (
    GEMM,
    CONVOLUTION,
    ATTENTION,
    MOE,
    NORMALIZATION,
    SOFTMAX,
    EMBEDDING,
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


class _WordRule(NamedTuple):
    """A rule on whole words, see `kernel_words`."""

    words: str
    category: str
    note: str
    anywhere: bool
    """Whether words of namespaces count as much as those of the kernel's own name."""

    def apply(self, words: str) -> KernelMeaning | None:
        found = _compiled(f" (?:{self.words}) ").search(words, 0, LONGEST_WORDS)
        if found is None:
            return None
        return KernelMeaning(self.category, "", expanded_note(self.note, found))


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
    found = _ruled_meaning(demangled, short, is_collective(full_name))
    return found if found.family else found._replace(family=_family(demangled))


def _ruled_meaning(demangled: str, short: str, communicates: bool) -> KernelMeaning:
    built_in = _built_in_meanings()
    for rule in built_in.collective_rules if communicates else built_in.rules:
        found = rule.apply(demangled, short)
        if found is not None:
            return found
    if communicates:
        return KernelMeaning(COMMUNICATION, "", "")
    components = _built_in_names()[1].components(demangled)
    return _meaning_of_words(words_of_name(components, short)) or KernelMeaning(OTHER, "", "")


def _meaning_of_words(words: NameWords) -> KernelMeaning | None:
    rules = _built_in_meanings().word_rules
    for part in words:
        for rule in rules:
            found = rule.apply(words.own + words.namespaces if rule.anywhere else part)
            if found is not None:
                return found
    return None


_remembered_meaning = functools.lru_cache(maxsize=4_096)(_meaning)


def _family(demangled: str) -> str:
    for pattern, family in _built_in_meanings().families:
        if _compiled(pattern).search(demangled, 0, LONGEST_MATCHED):
            return family
    return ""


class _BuiltIn(NamedTuple):
    """The rules of the package."""

    rules: tuple[_MeaningRule, ...]
    collective_rules: tuple[_MeaningRule, ...]
    word_rules: tuple[_WordRule, ...]
    families: tuple[tuple[str, str], ...]


@functools.lru_cache(maxsize=1)
def _built_in_meanings() -> _BuiltIn:
    document = packaged_toml("names", "rules", "kernel_meanings.toml")
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
    return _BuiltIn(
        tuple(rule for rule in rules if rule.category != COMMUNICATION),
        tuple(rule for rule in rules if rule.category == COMMUNICATION),
        tuple(
            _WordRule(rule["words"], rule["category"], rule["note"], rule.get("anywhere", False))
            for rule in document["word"]
        ),
        tuple(document["families"].items()),
    )
