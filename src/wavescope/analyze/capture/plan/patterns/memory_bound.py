"""A kernel whose stall memory causes: clean traffic leaves nothing to gain in loads."""

from __future__ import annotations

from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.plan.context import Opportunity, PlanContext
from wavescope.analyze.traffic import CEILING_PERCENT, Verdict, conclude
from wavescope.model.capture import Flags

_MEMORY = (Kind.VMEM_LOAD, Kind.LOAD_TO_LDS, Kind.VMEM_STORE, Kind.ATOMIC)
_BOUND_PERCENT = 40.0


def find(context: PlanContext, free: Flags) -> list[Opportunity]:  # noqa: ARG001  claims nothing
    """What counters say about a kernel whose stall is mostly memory, or how to get them."""
    pieces = context.pieces
    total = int(pieces.stall.sum())
    is_memory = context.cause_is(*_MEMORY) & ~context.is_polling[pieces.cause_row]
    of_memory = int(pieces.stall[is_memory].sum())
    if not total or 100 * of_memory < _BOUND_PERCENT * total:
        return []
    evidence = f"{100 * of_memory / total:.0f} % of all stall is caused by memory accesses"
    traffic = context.counters.traffic if context.counters else None
    if traffic is None and _is_full(context):
        return [_full(context, evidence)]
    if traffic is None:
        if context.memory is not None and context.memory.is_cached:
            evidence = f"{evidence}; the kernel {context.memory.words}"
        return [
            Opportunity(
                pattern="memory-bound-why",
                title="memory causes much of the stall; counters would tell why",
                evidence=evidence,
                cause="a thread trace has no cache counters",
                fix="collect the counters that docs/traffic.md lists, give them with --counters: "
                "only they tell waste (fix the pattern) from a full bus (move less)",
                where="whole kernel",
            )
        ]
    conclusion = conclude(traffic)
    words = "; ".join(answer.words for answer in conclusion.answers)
    if conclusion.verdict is Verdict.CLEAN:
        return [
            Opportunity(
                pattern="memory-bound-clean",
                title="nothing is left to gain in loads: the traffic is clean",
                evidence=f"{evidence}; {words}",
                cause="every byte is needed, and memory delivers what such a pattern reaches",
                fix=conclusion.words
                + " Gains of load patterns above can then only hide latency, not "
                "add bandwidth",
                where="whole kernel",
                numbers={"verdict": conclusion.verdict.value},
                comes_first=_is_full(context),
            )
        ]
    return [
        Opportunity(
            pattern="memory-bound",
            title=f"memory causes much of the stall; its traffic is: {conclusion.verdict.value}",
            evidence=f"{evidence}; {words}",
            cause=words or "the counters do not decide",
            fix=conclusion.words,
            where="whole kernel",
            numbers={"verdict": conclusion.verdict.value},
        )
    ]


def _is_full(context: PlanContext) -> bool:
    """Whether memory is asked for as much as kernels get out of it, and for no more."""
    memory = context.memory
    return memory is not None and not memory.is_cached and memory.share_percent >= CEILING_PERCENT


def _full(context: PlanContext, evidence: str) -> Opportunity:
    memory = context.memory
    assert memory is not None
    return Opportunity(
        pattern="memory-full",
        title=f"memory is the limit: the kernel {memory.words}",
        evidence=f"{evidence}; {memory.share_percent:.0f} % of the peak, with all lanes active",
        cause="the loads and stores of all waves together take what memory gives",
        fix="move fewer bytes: smaller types, fused kernels, reuse in registers and LDS; hiding "
        "latency better gains no more than what is left of the peak. Counters (--counters) tell "
        "how much of it caches serve",
        where="whole kernel",
        numbers={
            "requested_tb_per_s": memory.tb_per_s,
            "peak_tb_per_s": memory.peak_tb_per_s,
            "share_percent": memory.share_percent,
        },
        comes_first=True,
    )
