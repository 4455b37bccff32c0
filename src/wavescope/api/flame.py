"""Where time goes by stack."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.analyze.flame import FlameOptions, StackTime, flame_result
from wavescope.api.opened import Where, opened, selection_of, tell_no_ops
from wavescope.errors import UsageError
from wavescope.model.paths import PathLike
from wavescope.model.progress import Tell, tell_nobody
from wavescope.model.result import Result
from wavescope.model.selection import Selection
from wavescope.model.trace import Trace
from wavescope.outputs import replaced
from wavescope.render.results.folded import write_folded

if TYPE_CHECKING:
    from typing_extensions import Unpack

_NO_CALLS = "there are no host calls in the trace or the part that was chosen"


def flame(
    trace: Trace | PathLike,
    of: StackTime | str = StackTime.GPU,
    *,
    most: int = 0,
    depth: int = 0,
    by_kind: bool = False,
    joined: bool = False,
    captures: Sequence[Trace | PathLike] = (),
    selection: Selection | None = None,
    tell: Tell = tell_nobody,
    **where: Unpack[Where],
) -> Result:
    """GPU time by the stack that launched it, or host time (`of="host"`) by what was called.

    `most` and `depth` choose the heaviest paths and how long they may be; 0 is all. With `by_kind`
    modules of a kind, such as all layers, are together. `joined` puts names that only pass their
    time on to one other into its row. `captures` are traces in which the graphs that this one
    replays were captured.
    """
    options = FlameOptions(_stack_time(of), most, depth, by_kind, joined)
    chosen = selection_of(selection, where)
    with opened(trace) as whole, ExitStack() as stack:
        shown = [stack.enter_context(opened(each)) for each in captures]
        result = flame_result(whole, options, chosen, shown)
    if not result.facts["path_count"]:
        if options.of is StackTime.GPU:
            tell_no_ops(chosen, tell)
        else:
            tell(_NO_CALLS)
    return result.with_facts(chosen.facts)


def save_flame(result: Result, output: PathLike, *, force: bool = False) -> Path:
    """Write what `flame` gave as folded stacks, which flame graph tools read."""
    target, trace = Path(output), str(result.facts["path"])
    with (
        replaced(target, [Path(trace)], force=force) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as stream,
    ):
        write_folded(result.table("flame"), stream)
    return target


def _stack_time(of: StackTime | str) -> StackTime:
    try:
        return StackTime(of)
    except ValueError:
        names = " and ".join(f"'{each.value}'" for each in StackTime)
        raise UsageError(f"there is no flame graph of '{of}'", hint=f"there are {names}") from None
