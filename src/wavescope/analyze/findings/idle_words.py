"""How the story of an idle GPU is told: why, with what evidence, and what to do about it."""

from __future__ import annotations

from typing import NamedTuple

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.idle.host_work import CallCover, HostWork
from wavescope.analyze.idle.idle_story import IdlePart, IdleStory
from wavescope.analyze.idle.late_starts import LateStart
from wavescope.units import counted, duration_text

_NEAR = 0.8
"""A second part of this share of the first is told beside it."""
_MOST = 0.5
_WORTH_TELLING = 0.05


class Telling(NamedTuple):
    """One part of the idle time in words."""

    because: str
    """Continues 'the GPU was idle because ...'."""
    reason: str
    """The same for programs, within its part."""
    evidence: str
    next_step: str


def causes(context: FindingContext, story: IdleStory) -> list[Telling]:
    """What explains most of the idle time: its largest part, and one that is nearly as large."""
    first, second = story.ranked[:2]
    near = second.of(story.split) >= _NEAR * first.of(story.split) > 0
    return [told(context, story, part) for part in ((first, second) if near else (first,))]


def told(context: FindingContext, story: IdleStory, part: IdlePart) -> Telling:
    """One part in words."""
    if part is IdlePart.BEFORE:
        return _before(context, story)
    if part is IdlePart.WAITING:
        return _waiting(story)
    if part is IdlePart.IN_LAUNCH:
        return _in_launch(context, story)
    return _after_launch(context, story) if part is IdlePart.AFTER_LAUNCH else _UNLINKED


_PART_WORDS = {
    IdlePart.BEFORE: "before the host launched the next op",
    IdlePart.WAITING: "while the host waited for the GPU",
    IdlePart.IN_LAUNCH: "inside the launch call",
    IdlePart.AFTER_LAUNCH: "after the launch call",
    IdlePart.UNLINKED: "before ops without a recorded launch",
}


def shares(story: IdleStory) -> str:
    """The parts that matter, in percent of the idle time."""
    idle_ns = story.split.idle_ns
    parts = [part for part in story.ranked if part.of(story.split) >= _WORTH_TELLING * idle_ns]
    return ", ".join(
        f"{100 * part.of(story.split) / idle_ns:.0f} % {_PART_WORDS[part]}" for part in parts
    )


_UNLINKED = Telling(
    "",
    "unlinked",
    "",
    "record the host's calls too (`wavescope trace --mode hip`, on NVIDIA `--mode cuda`; rocprofv3 "
    "`--hip-trace`) to tell the cause",
)


def _before(context: FindingContext, story: IdleStory) -> Telling:
    host = story.host
    assert host is not None
    is_launching = story.before_gap_ns <= context.thresholds.launch_gap_ns
    if is_launching:
        return _launching(story, host)
    if host.one_time is not None:
        return _one_time(host, host.one_time)
    call = host.innermost
    if call is None:
        return _unnamed_work(story, host)
    of_longest = ""
    if story.host_in_longest is not None and story.host_in_longest.innermost is not None:
        longest = story.host_in_longest
        inner = longest.innermost
        assert inner is not None
        of_longest = (
            f", of the longest gap {duration_text(inner.covered_ns)} of "
            f"{duration_text(story.split.longest_gap_ns)} in {inner.readable}"
        )
    evidence = (
        f"the host was in {call.readable} for {duration_text(call.covered_ns)} of the "
        f"{duration_text(host.total_ns)} before launches ({counted(call.calls, 'call')})"
        f"{_callers(host)}{of_longest}"
    )
    return Telling(
        f"the host was in {call.readable} instead of launching more",
        "host_work",
        evidence,
        f"do the work of {call.readable} ahead of time or beside the GPU's (other threads or "
        "processes, the next batch while this one runs), make it faster, or move it to the GPU",
    )


def _one_time(host: HostWork, call: CallCover) -> Telling:
    how = "the first call of " if call.is_first_call else ""
    why = "; later calls of it are over ten times shorter" if call.is_first_call else ""
    return Telling(
        f"the host was in {how}{call.readable}, which is done once",
        "one_time",
        f"the host was in {call.readable} for {duration_text(call.covered_ns)} of the "
        f"{duration_text(host.total_ns)} before launches ({counted(call.calls, 'call')}){why}",
        "one-time work (capturing graphs, compiling, loading libraries, choosing algorithms): run "
        "a few steps before recording, and look at the later ones",
    )


def _callers(host: HostWork) -> str:
    """Who called the innermost call: the two telling calls around it."""
    around = [call.readable for call in host.telling[:-1]][-2:]
    return f", inside {' > '.join(around)}" if around else ""


def _unnamed_work(story: IdleStory, host: HostWork) -> Telling:
    largest = host.largest_part
    if 2 * host.unrecorded_ns >= host.total_ns:
        evidence = (
            f"for {duration_text(host.unrecorded_ns)} of the {duration_text(host.total_ns)} before "
            f"launches the trace has no call of the launching thread: what it did cannot be told"
        )
        next_step = (
            "record Python's stack too (torch.profiler: with_stack=True), or sample the host "
            "(py-spy), to see what it does there; do that ahead of time or beside the GPU's work"
        )
        because = "the host did something else before launching, which is not in the trace"
        return Telling(because, "unrecorded", evidence, next_step)
    evidence = (
        f"half of the time before launches is in gaps of at most "
        f"{duration_text(story.before_gap_ns)}, and no single call covers half of it"
    )
    if largest is not None:
        evidence += f"; {largest.readable} covers {duration_text(largest.covered_ns)}"
    return Telling(
        "the host took long from launch to launch, with no single call to blame",
        "host_work",
        evidence,
        "do the host's work ahead of time or beside the GPU's, or launch many ops at once with a "
        "graph; `wavescope summary --table calls` shows what the host did",
    )


def _launching(story: IdleStory, host: HostWork) -> Telling:
    """Many short gaps: the host launches more slowly than the GPU works."""
    gaps = (
        f"half of the time before launches is in gaps of at most "
        f"{duration_text(story.before_gap_ns)}"
    )
    call = host.innermost or host.largest_part
    inside = ""
    if call is not None:
        inside = f"; {call.readable} covers {duration_text(call.covered_ns)} of it"
    if story.drained_ns >= _MOST * story.split.before_ns:
        waiting = story.waiting_call or "a call that waits for the GPU"
        return Telling(
            f"the host had waited for the GPU ({waiting}) and then launched the next ops late",
            "drained",
            f"{100 * story.drained_ns / story.split.before_ns:.0f} % of the time before launches "
            f"is in gaps that began while the host waited for the GPU; {gaps}{inside}",
            "do not wait for results between launches (`.item()`, `.cpu()`, stream or device "
            "synchronize): launch the next step first",
        )
    return Telling(
        "the host launches ops more slowly than the GPU runs them",
        "launching",
        f"{gaps}{inside}",
        "launch less: graphs (hipGraph, CUDA graph, torch.compile with reduce-overhead), fused "
        "kernels, or a larger batch",
    )


def _waiting(story: IdleStory) -> Telling:
    call = story.waiting_call or "a call that waits for the GPU"
    return Telling(
        f"the host was still waiting in {call} though the GPU had finished",
        "waiting",
        f"{duration_text(story.split.waiting_ns)} of the gaps the launching thread spent in calls "
        f"that wait for the GPU, most in {call}",
        "wait less often (`.item()`, `.cpu()`, stream or device synchronize), launch the next step "
        "before waiting, or let the runtime spin instead of sleep",
    )


def _in_launch(context: FindingContext, story: IdleStory) -> Telling:
    first, in_launch_ns = story.first_launches, story.split.in_launch_ns
    if first is not None and first.total_ns >= _MOST * in_launch_ns:
        return Telling(
            "first launches of kernels took that long: their code was loaded",
            "first_launch",
            f"{counted(first.kernels, 'kernel')} spent {duration_text(first.total_ns)} in the "
            f"first launch, {context.name_of_op(story.parts.trace, first.longest_op)} "
            f"{duration_text(first.longest_ns)}; the median launch takes "
            f"{duration_text(first.median_ns)}",
            "it happens once: run every kernel before recording (warm-up), and judge by later "
            "steps; where start-up matters, load code ahead of time "
            "(HIP_ENABLE_DEFERRED_LOADING=0, CUDA_MODULE_LOADING=EAGER)",
        )
    return Telling(
        "the launch calls themselves took that long",
        "launch",
        f"{duration_text(in_launch_ns)} of the gaps lie inside launch calls",
        "launch many ops at once with a graph, or fewer and larger ones; tracers that follow every "
        "call make launches slower: compare with the program's own speed",
    )


_LATE_BECAUSE = {
    LateStart.GRAPH_STEP: "the GPU stepped from one op to the next within graphs",
    LateStart.QUEUE_STEP: "the GPU stepped from one queued op to the next",
    LateStart.DELIVERY: "launched ops took that long to begin",
    LateStart.EVENT: "the next op was launched in time and then waited (it seems for an event)",
    LateStart.FIRST_OF_QUEUE: "the next op was launched in time, but its queue began late",
    LateStart.UNKNOWN: "the next op was launched in time, but began late",
}
_LATE_NEXT_STEP = {
    LateStart.GRAPH_STEP: "fewer and larger ops: fuse kernels, in graphs too",
    LateStart.QUEUE_STEP: "the host is fast enough; fewer and larger ops (fused kernels) mean "
    "fewer steps, and graphs make them shorter",
    LateStart.DELIVERY: "launch further ahead, so that ops wait in the queue and not on their way: "
    "graphs, larger ops, no waiting between them",
    LateStart.EVENT: "launching less does not help: find what records the event (another queue, "
    "rank or process, or work from before the recording) and let less depend on it",
    LateStart.FIRST_OF_QUEUE: "launching less does not help: the queue's first op waits for the "
    "queue itself or for work from before the recording; begin recording in a steady state",
    LateStart.UNKNOWN: "launching less does not help: look at what the op depends on (an event, "
    "another queue, another process or rank, a signal of the host)",
}


def _after_launch(context: FindingContext, story: IdleStory) -> Telling:
    late = story.late_starts
    assert late is not None
    reason, longest = late.main, late.longest
    evidence = (
        f"{duration_text(story.split.after_launch_ns)} of the gaps lie between the return of a "
        f"launch and the op"
    )
    if reason not in (LateStart.GRAPH_STEP, LateStart.QUEUE_STEP, LateStart.DELIVERY):
        name = context.name_of_op(story.parts.trace, longest.row)
        evidence = (
            f"{name} (op {context.id_of_op(story.parts.trace, longest.row)}) was launched by "
            f"{longest.launch_name} in {duration_text(longest.launch_ns)} and began "
            f"{duration_text(longest.waited_ns)} later"
        )
        if reason is LateStart.EVENT:
            evidence += ", after its thread had told a queue to wait for an event"
        if longest.op_before is not None:
            other = context.name_of_op(story.parts.trace, longest.op_before)
            evidence += f"; until then {other} of another queue ran"
        else:
            evidence += (
                "; nothing else ran on the GPU meanwhile, so what it waited for is not in the trace"
            )
        if longest.is_first_of_queue:
            evidence += (
                "; it is the first op of its queue here, so this may be work that was launched "
                "before the recording began, which traces leave out"
            )
        if longest.host_wait:
            evidence += f"; the host waited in {longest.host_wait}"
    return Telling(_LATE_BECAUSE[reason], reason.name.lower(), evidence, _LATE_NEXT_STEP[reason])
