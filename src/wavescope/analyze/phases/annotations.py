"""What markers say of prefill and decode, beside what names and structure say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from wavescope.analyze.phases.found import Codes, FoundPhase
from wavescope.analyze.phases.marked import MarkedPhases
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import looked_up
from wavescope.names.kernel_names import LONGEST_MATCHED

MOST_DISAGREEMENT = 0.1
"""Of the GPU time that both tell: with more, markers are believed and structure is not."""
_WORDS = {
    "prefill": FoundPhase.PREFILL,
    "extend": FoundPhase.PREFILL,
    "decode": FoundPhase.DECODE,
    "mixed": FoundPhase.SHARED,
}
_WORD = re.compile("|".join(_WORDS), re.IGNORECASE)
_BATCH = re.compile(
    r"execute(?:_\d+)?_context_\d+\((?:sq)?(\d+)[^)]*\)_generation_\d+\((?:sq)?(\d+)[^)]*\)"
)
_EXTENDED = re.compile(r"EXTEND\b.*\btoks=(\d+)")
_DECODED = re.compile(r"DECODE\b.*\bbs=(\d+)")


class BatchTokens(NamedTuple):
    """How many tokens the batches that an engine wrote down hold."""

    prompt: int = 0
    decode: int = 0

    @property
    def prompt_percent(self) -> float | None:
        total = self.prompt + self.decode
        return 100 * self.prompt / total if total else None


def annotated_phases(marked: MarkedPhases) -> Codes:
    """For each op the phase that the innermost telling range around it names; else unclassified."""
    of_path = np.full(len(marked.paths) + 1, FoundPhase.UNCLASSIFIED, np.int8)
    for number, path in enumerate(marked.paths):
        words = _WORD.findall(path.name[:LONGEST_MATCHED])
        if words:
            of_path[number] = _WORDS[words[-1].lower()]
        elif path.parent >= 0:
            of_path[number] = of_path[path.parent]
    return looked_up(of_path, marked.path_of_op)


def phase_in_name(name: str) -> str:
    """The phase that a marker's name tells (prefill, decode or mixed), "" when it tells none."""
    short = name[:LONGEST_MATCHED]
    if batch := _BATCH.match(short):
        prompt, decoded = int(batch[1]) > 0, int(batch[2]) > 0
        found = FoundPhase.SHARED if prompt and decoded else FoundPhase.DECODE
        return (FoundPhase.PREFILL if prompt and not decoded else found).label
    words = _WORD.findall(short)
    return _WORDS[words[-1].lower()].label if words else ""


def agreement(marked: MarkedPhases, found: Codes, lengths_ns: Array) -> float | None:
    """Of the GPU time of which markers and structure both tell prefill or decode, how much they
    tell alike; None where they do not meet."""
    said = annotated_phases(marked)
    told = (FoundPhase.PREFILL, FoundPhase.DECODE)
    both = np.isin(said, told) & np.isin(found, told)
    whole_ns = float(lengths_ns[both].sum())
    return float(lengths_ns[both & (said == found)].sum()) / whole_ns if whole_ns else None


def batch_tokens(texts: Iterable[str]) -> BatchTokens:
    """The tokens of all batches that these annotations of serving engines are about.

    Engines may write two annotations around one step, of which those with both numbers count.
    """
    batches, prompts, decoded = [], 0, 0
    for text in texts:
        short = text[:LONGEST_MATCHED]
        if batch := _BATCH.match(short):
            batches.append(BatchTokens(int(batch[1]), int(batch[2])))
        elif extended := _EXTENDED.search(short):
            prompts += int(extended[1])
        elif single := _DECODED.search(short):
            decoded += int(single[1])
    if batches:
        return BatchTokens(*(sum(numbers) for numbers in zip(*batches, strict=True)))
    return BatchTokens(prompts, decoded)
