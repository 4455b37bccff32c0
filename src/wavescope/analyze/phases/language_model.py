"""Whether a trace is of a program that serves a language model: without evidence nothing is prefill
or decode, whatever its steps look like. docs/phases.md publishes the rule."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ops.op_labels import op_labels
from wavescope.analyze.phases.launches import launch_sizes, load_launch_sizes
from wavescope.analyze.phases.name_signs import NamedPhase, PhaseRules, built_in_rules
from wavescope.analyze.phases.recorded_model import is_causal_language_model
from wavescope.arrays.coded_columns import code_counts
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import LONGEST_MATCHED
from wavescope.package_files import packaged_toml

MOST_NAMES = 8_192
MOST_CALL_NAMES = 65_536
MOST_LAYERS = 160
"""Launches of attention in a pass: language models have no more layers."""
MOST_PASSES = 512
"""Passes that are looked at, spread over all of them."""
EMBEDDED_SHARE_LOG2 = -6
"""Tokens are embedded by launches not much smaller than the usual one; a diffusion model embeds
its time step, a thousandth of that."""


class Evidence(enum.IntEnum):
    """How sure it is that a language model runs."""

    NONE = 0
    IF_DECODING = 1
    """Kernels that language models have, and others too: only steps of decode settle it."""
    SURE = 2


class Sign(str, enum.Enum):
    """What a name can show."""

    SERVING = "serving"
    GENERATING = "generating"
    IMAGE = "image"
    EMBEDDING = "embedding"
    ROTARY = "rotary"
    RMS_NORM = "rms norm"
    CHOICE = "choice"
    ATTENTION = "attention"


_DECODER = frozenset({Sign.EMBEDDING, Sign.ROTARY, Sign.RMS_NORM, Sign.ATTENTION})
_GENERATOR = frozenset({Sign.CHOICE, Sign.ATTENTION})


@dataclass(frozen=True)
class _SignPatterns:
    """For each sign one expression, of kernels and of host calls."""

    kernels: dict[Sign, re.Pattern[str]]
    calls: dict[Sign, re.Pattern[str]]


@functools.lru_cache(maxsize=1)
def _patterns() -> _SignPatterns:
    document = packaged_toml("analyze", "phases", "rules", "language_model.toml")
    found: tuple[dict[Sign, list[str]], dict[Sign, list[str]]] = ({}, {})
    for rule in document["sign"]:
        found[rule.get("calls", False)].setdefault(Sign(rule["says"]), []).append(rule["match"])
    kernels, calls = (
        {sign: re.compile("|".join(parts)) for sign, parts in side.items()} for side in found
    )
    return _SignPatterns(kernels, calls)


@functools.lru_cache(maxsize=4)
def _named_phases(rules: PhaseRules) -> re.Pattern[str]:
    """Kernels that a rule says to be of prefill or decode without any doubt."""
    sure = [
        rule.pattern
        for rule in rules.rules
        if rule.phase in {NamedPhase.PREFILL, NamedPhase.DECODE} and rule.weight >= 1
    ]
    parts = [
        f"(?i:{pattern.pattern.removeprefix('(?i)')})"
        if pattern.flags & re.IGNORECASE
        else f"(?:{pattern.pattern})"
        for pattern in sure
    ]
    return re.compile("|".join(parts) or r"(?!)")


def language_model_evidence(trace: Trace, rules: PhaseRules | None = None) -> Evidence:
    """How sure it is that `trace` is of a language model."""
    names = _frequent_names(trace)
    if any(_named_phases(rules or built_in_rules()).search(name) for name in names):
        return Evidence.SURE
    patterns = _patterns()
    signs = _signs_of(names, patterns.kernels)
    if Sign.SERVING in signs:
        return Evidence.SURE
    signs |= _signs_of(_call_names(trace), patterns.calls)
    if Sign.IMAGE in signs:
        return Evidence.NONE
    if Sign.GENERATING in signs:
        return Evidence.SURE
    if signs >= _DECODER and _embeds_tokens(trace, if_unknown=Sign.CHOICE in signs):
        return Evidence.SURE
    if Sign.EMBEDDING in signs and is_causal_language_model(trace):
        return Evidence.SURE
    return Evidence.IF_DECODING if signs >= _GENERATOR else Evidence.NONE


def _frequent_names(trace: Trace) -> list[str]:
    """What ops are called; of very many the most frequent ones."""
    labels = trace.derived(op_labels)
    texts = [text[:LONGEST_MATCHED] for text in labels.texts]
    if len(texts) <= MOST_NAMES:
        return texts
    counts = code_counts(labels.for_each_op(np.arange(len(texts), dtype=np.int32)), len(texts))
    return [texts[label] for label in np.argsort(-counts, kind="stable")[:MOST_NAMES].tolist()]


def _call_names(trace: Trace) -> list[str]:
    if not len(trace.calls):
        return []
    codes = trace.calls.code_counts("name").codes[:MOST_CALL_NAMES]
    return [trace.strings[code][:LONGEST_MATCHED] for code in codes.tolist()]


def _signs_of(names: Iterable[str], patterns: dict[Sign, re.Pattern[str]]) -> set[Sign]:
    """The signs that any of the names shows."""
    wanted = dict(patterns)
    found: set[Sign] = set()
    for name in names:
        for sign in [sign for sign, pattern in wanted.items() if pattern.search(name)]:
            found.add(sign)
            del wanted[sign]
    return found


def _embeds_tokens(trace: Trace, *, if_unknown: bool) -> bool:
    """Whether most attention lies in passes that begin with a lookup as large as their other work;
    `if_unknown` is the answer where launch sizes are not known."""
    load_launch_sizes(trace, "name", "type", "start_ns")
    order = np.argsort(trace.ops["start_ns"], kind="stable")
    sizes = launch_sizes(trace, order)
    if np.isnan(sizes).all():
        return if_unknown
    labels, patterns = op_labels(trace), _patterns().kernels
    is_lookup, is_attention = (
        labels.for_each_op(np.array([bool(patterns[sign].search(text)) for text in labels.texts]))[
            order
        ]
        for sign in (Sign.EMBEDDING, Sign.ATTENTION)
    )
    lookups = np.flatnonzero(is_lookup)
    bounds = np.append(lookups, sizes.size).tolist()
    attended = np.append(0, np.cumsum(is_attention))
    of_tokens = 0
    for first, stop in list(pairwise(bounds))[:: lookups.size // MOST_PASSES + 1]:
        layers = int(attended[stop] - attended[first])
        if 0 < layers <= MOST_LAYERS and _is_as_large(sizes[first:stop]):
            of_tokens += layers
        elif layers:
            of_tokens -= layers
    return of_tokens > 0


def _is_as_large(sizes: npt.NDArray[np.float64]) -> bool:
    """Whether the first of some launches is not much smaller than the usual one."""
    known = sizes[~np.isnan(sizes)]
    return not np.isnan(sizes[0]) and bool(sizes[0] - np.median(known) >= EMBEDDED_SHARE_LOG2)
