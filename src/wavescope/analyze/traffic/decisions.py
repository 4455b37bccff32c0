"""The decision tree: what hit rate, read sizes, over-fetch and bandwidth say about a kernel.

Each question has an answer in words; together they end in one conclusion. docs/traffic.md states
the thresholds.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from wavescope.analyze.traffic.kernels import KernelTraffic

STREAMING_HIT_PERCENT = 5.0
REUSING_HIT_PERCENT = 60.0
FULL_LINE_PERCENT = 5.0
SCATTERED_PERCENT = 25.0
CLEAN_OVER_FETCH = 1.1
HIGH_OVER_FETCH = 1.5
CEILING_PERCENT = 70.0
NORMAL_PERCENT = 45.0
"""Of the published peak: clean streaming reaches 50 to 60 %, so that memory may limit from here."""
NEAR_MEASURED_PERCENT = 55.0
"""The same of the peak that was measured on the machine, which is what memory really gives."""
FULL_PERCENT = 65.0
"""Of either: from here on memory limits, whatever else does."""


class MemoryUse(str, enum.Enum):
    """Whether memory limits a kernel."""

    SPARE = "spare"
    NEAR = "near"
    """Memory or latency: the share alone does not decide."""
    FULL = "full"


def memory_use(published_percent: float, measured_percent: float | None = None) -> MemoryUse:
    """The one answer for all reports: by the measured peak where there is one."""
    is_measured = measured_percent is not None
    share = published_percent if measured_percent is None else measured_percent
    if share < (NEAR_MEASURED_PERCENT if is_measured else NORMAL_PERCENT):
        return MemoryUse.SPARE
    return MemoryUse.NEAR if share < FULL_PERCENT else MemoryUse.FULL


class Verdict(str, enum.Enum):
    """What the whole tree comes to."""

    CLEAN = "clean"
    """Nothing is wasted and the bandwidth is what such a pattern reaches."""
    WASTEFUL = "wasteful"
    """Bytes are fetched that are not needed."""
    BANDWIDTH_TO_SPARE = "bandwidth to spare"
    """What is fetched is needed, and memory could give much more: latency or compute limits."""
    L2_SERVED = "served by L2"
    """Memory is hardly asked; look at L2 and the compute units instead."""
    UNDECIDED = "undecided"
    """The counters do not tell."""


class Answer(NamedTuple):
    """One question of the tree; `is_fault` marks what is worth changing."""

    question: str
    words: str
    is_fault: bool = False


class Conclusion(NamedTuple):
    """The answers of one kernel and what they come to."""

    answers: tuple[Answer, ...]
    verdict: Verdict
    words: str


def conclude(traffic: KernelTraffic) -> Conclusion:
    """Walk the tree for one kernel."""
    answers = tuple(
        answer
        for answer in (
            _reuse(traffic),
            _lines(traffic),
            _over_fetch(traffic),
            _bandwidth(traffic),
        )
        if answer is not None
    )
    verdict = _verdict(traffic, answers)
    words = _CONCLUSIONS[verdict]
    if verdict is Verdict.CLEAN and _use(traffic) is MemoryUse.NEAR:
        words += _OR_LATENCY
    return Conclusion(answers, verdict, words)


_OR_LATENCY = (
    " Its bandwidth is what clean streaming reaches: either memory or latency limits it, and more "
    "loads in flight would show which."
)
_CONCLUSIONS = {
    Verdict.CLEAN: (
        "The memory subsystem is clean: there is nothing left to gain in how this kernel loads. "
        "Only reading less (reuse across workgroups, smaller types) makes it faster."
    ),
    Verdict.WASTEFUL: (
        "Bytes are moved that the kernel does not need: fix the access pattern before anything "
        "else, the bandwidth figure includes the waste."
    ),
    Verdict.BANDWIDTH_TO_SPARE: (
        "Nothing is wasted and memory could give much more: the kernel waits for loads (then more "
        "waves, wider loads or prefetching help) or computes; `wavescope hotspots` tells which."
    ),
    Verdict.L2_SERVED: (
        "L2 serves most requests: memory bandwidth is not the limit. Look at LDS and register "
        "reuse, and at instruction stalls with `wavescope hotspots`."
    ),
    Verdict.UNDECIDED: "The counters do not decide; docs/traffic.md lists which to collect.",
}


def _reuse(traffic: KernelTraffic) -> Answer | None:
    hit = traffic.hit_percent
    if hit is None:
        return None
    if hit < STREAMING_HIT_PERCENT:
        words = (
            f"{hit:.1f} % of requests hit L2: pure streaming, each byte is read once. A higher hit "
            "rate is not a goal unless the workload itself shares data"
        )
    elif hit < REUSING_HIT_PERCENT:
        words = f"{hit:.1f} % of requests hit L2: some reuse, part of which reaches memory again"
    else:
        words = f"{hit:.1f} % of requests hit L2: it serves most of them"
    return Answer("Is there reuse in L2?", words)


def _lines(traffic: KernelTraffic) -> Answer | None:
    small = traffic.small_read_percent
    if small is None:
        return None
    if small < FULL_LINE_PERCENT:
        words, fault = f"{small:.1f} % of reads are partial (32 B): whole lines are used", False
    elif small < SCATTERED_PERCENT:
        words, fault = f"{small:.1f} % of reads are partial (32 B): some lines are cut", False
    else:
        words = (
            f"{small:.1f} % of reads are partial (32 B): accesses are scattered or misaligned; "
            "make neighbouring lanes read neighbouring addresses, aligned to 64 B or more"
        )
        fault = True
    return Answer("Are whole lines read?", words, fault)


def _over_fetch(traffic: KernelTraffic) -> Answer | None:
    ratio = traffic.over_fetch
    if ratio is None:
        return None
    question = "Is anything read twice?"
    if ratio > HIGH_OVER_FETCH:
        words = (
            f"{ratio:.2f} x the ideal bytes: data is fetched again and again; enlarge tiles or "
            "order workgroups so that those which share data run together"
        )
        return Answer(question, words, True)
    if ratio > CLEAN_OVER_FETCH:
        return Answer(question, f"{ratio:.2f} x the ideal bytes: a little is fetched again")
    if ratio < 1 / CLEAN_OVER_FETCH:
        return Answer(
            question,
            f"{ratio:.2f} x the ideal bytes: less than the ideal, so a cache kept part of the data "
            "or the ideal is set too high",
        )
    return Answer(question, f"{ratio:.2f} x the ideal bytes: exactly what is needed")


def _bandwidth(traffic: KernelTraffic) -> Answer | None:
    share = traffic.peak_percent
    if share is None:
        return None
    question = "How much of the memory bandwidth is used?"
    if share > 105:
        words = (
            f"{share:.0f} % of the peak: more than memory gives, so a cache behind L2 (Infinity "
            "Cache) serves part of it"
        )
    elif share >= CEILING_PERCENT:
        words = f"{share:.0f} % of the peak: at the practical ceiling"
    elif share >= NORMAL_PERCENT:
        words = f"{share:.0f} % of the peak: normal for streaming and gathers (50 to 60 %)"
    else:
        words = f"{share:.0f} % of the peak: below what clean streaming reaches"
    if traffic.measured_percent is not None:
        words += f"; {traffic.measured_percent:.0f} % of what was measured on this machine"
    return Answer(question, words)


def _may_be_twice_as_much(traffic: KernelTraffic, share: float) -> bool:
    """Whether wide reads that were counted as narrow ones would be more than is to spare."""
    is_lower_bound = traffic.read is not None and traffic.read.is_lower_bound
    return is_lower_bound and memory_use(2 * share) is not MemoryUse.SPARE


def _use(traffic: KernelTraffic) -> MemoryUse | None:
    if traffic.peak_percent is None:
        return None
    return memory_use(traffic.peak_percent, traffic.measured_percent)


def _verdict(traffic: KernelTraffic, answers: tuple[Answer, ...]) -> Verdict:
    if any(answer.is_fault for answer in answers):
        return Verdict.WASTEFUL
    hit, share = traffic.hit_percent, traffic.peak_percent
    is_low = _use(traffic) is MemoryUse.SPARE
    if hit is not None and hit >= REUSING_HIT_PERCENT and (share is None or is_low):
        return Verdict.L2_SERVED
    if share is None:
        return Verdict.UNDECIDED
    if is_low and _may_be_twice_as_much(traffic, share):
        return Verdict.UNDECIDED
    if is_low:
        return Verdict.BANDWIDTH_TO_SPARE
    return Verdict.CLEAN
