"""One name for markers that repeat: `step 1`, `step 2` become `step *`.

Step annotations of serving engines become what they stand for (`rules/marker_names.toml`). Of the
others, those that differ only in numbers share a name in which the numbers are `*`; a name that no
other shares keeps its numbers. docs/phases.md has the rules in words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from wavescope.names.kernel_names import LONGEST_MATCHED, built_in_rules

# A number that stands by itself or ends the text; `fp8` and `bf16` are no counters.
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9])(?<!\d\.)\d+(?:\.\d+)*(?![A-Za-z0-9]|\.\d)|"
    r"(?<=[A-Za-z][A-Za-z])(?<!fp)(?<!bf)(?<!int)(?<!float)\d+$"
)


def merged_names(texts: Sequence[str]) -> list[str]:
    """For each of the different texts the name it shares with those it repeats."""
    ruled = [_name_by_rule(text) for text in texts]
    without_numbers = [
        rule_name or _NUMBER.sub("*", text[:LONGEST_MATCHED]) + text[LONGEST_MATCHED:]
        for rule_name, text in zip(ruled, texts, strict=True)
    ]
    sharing: dict[str, int] = {}
    for name in without_numbers:
        sharing[name] = sharing.get(name, 0) + 1
    return [
        merged if rule_name or sharing[merged] > 1 else text
        for rule_name, merged, text in zip(ruled, without_numbers, texts, strict=True)
    ]


def _name_by_rule(text: str) -> str:
    if len(text) > LONGEST_MATCHED:
        return ""
    for pattern, name in _rules():
        found = pattern.fullmatch(text)
        if found is not None:
            return found.expand(name)
    return ""


@functools.lru_cache(maxsize=1)
def _rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    document = built_in_rules("analyze", "phases", "rules", "marker_names.toml")
    return tuple((re.compile(rule["match"]), rule["name"]) for rule in document["rule"])
