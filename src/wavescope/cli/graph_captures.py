"""`--capture`: where the graphs were captured that a trace replays, and what that tells of it."""

from __future__ import annotations

from collections.abc import Mapping

from wavescope.cli.options import Arguments
from wavescope.model.result import Value
from wavescope.units import duration_text


def add_capture_flag(parser: Arguments) -> None:
    """`--capture FILE`, which may be repeated."""
    parser.add_argument(
        "--capture",
        metavar="FILE",
        action="append",
        default=[],
        help="trace in which graphs were captured that this one replays: replayed kernels get "
        "their operators from there (may be repeated)",
    )


def joined_text(facts: Mapping[str, Value]) -> str:
    """How much of the time of graph replays the captures explain."""
    if "replayed_ns" not in facts:
        return "no kernel of this trace was launched by a graph: the captures say nothing of it"
    joined, replayed = (
        duration_text(int(facts[name] or 0)) for name in ("joined_graph_replay_ns", "replayed_ns")
    )
    return f"{joined} of {replayed} of graph replays fit a capture by order and kernel names"
