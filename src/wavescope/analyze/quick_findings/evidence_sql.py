"""SQL that shows a finding's evidence on the trace file (`wavescope query TRACE SQL`).

Names in a trace are untrusted: they enter a statement as literals only, quoted or as bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST_LITERAL = 300


def text_literal(text: str) -> str:
    """`text` as an SQL expression, whatever is in it."""
    if text.isprintable() and len(text) <= _LONGEST_LITERAL:
        return "'" + text.replace("'", "''") + "'"
    return f"CAST(x'{text.encode('utf-8', 'surrogatepass').hex()}' AS TEXT)"


def on_gpu(gpu: int) -> str:
    """The condition that an op ran on `gpu`; files keep an unknown one as NULL."""
    return f"gpuId = {gpu}" if gpu >= 0 else "gpuId IS NULL"


def gaps_sql(
    gpu: int,
    *,
    least_ns: int = 0,
    most_ns: int | None = None,
    window: tuple[int, int] | None = None,
) -> str:
    """The longest idle gaps of a GPU, each with the op that ended it, and all they add up to.

    `window` keeps the gaps that end in it.
    """
    below = f" AND start - reached < {most_ns}" if most_ns is not None else ""
    if window is not None:
        below += f" AND start BETWEEN {window[0]} AND {window[1]}"
    return (
        "SELECT id AS op_after, reached AS gap_start, start - reached AS gap_ns, description, "
        "count(*) OVER () AS gaps, sum(start - reached) OVER () AS idle_ns FROM (SELECT id, start, "
        "description, max(end) OVER (ORDER BY start, end ROWS BETWEEN UNBOUNDED PRECEDING AND "
        f"1 PRECEDING) AS reached FROM op WHERE {on_gpu(gpu)} AND opType NOT LIKE '%barrier%') "
        f"WHERE start - reached > {least_ns}{below} ORDER BY gap_ns DESC LIMIT 20"
    )


def collectives_sql(gpu: int) -> str:
    """The collectives of a GPU by name."""
    names = ("ccl", "reduce", "gather", "scatter", "all_to_all", "alltoall")
    any_of = " OR ".join(f"description LIKE '%{name}%'" for name in names)
    return (
        "SELECT description, count(*) AS calls, sum(end - start) AS total_ns, max(end - start) AS "
        f"longest_ns FROM op WHERE {on_gpu(gpu)} AND opType LIKE '%kernel%' AND ({any_of}) "
        "GROUP BY description ORDER BY total_ns DESC LIMIT 20"
    )


def copies_sql(gpu: int) -> str:
    """The longest copies of a GPU."""
    return (
        "SELECT id, opType, queueId, start, end - start AS duration_ns FROM op WHERE "
        f"{on_gpu(gpu)} AND opType LIKE '%copy%' ORDER BY duration_ns DESC LIMIT 20"
    )


def short_kernels_sql(most_ns: int) -> str:
    """Kernels that run at most `most_ns`, by name."""
    return (
        "SELECT description, count(*) AS calls, sum(end - start) AS total_ns FROM op WHERE "
        f"gpuId IS NOT -1 AND opType LIKE '%kernel%' AND end - start <= {most_ns} "
        "GROUP BY description ORDER BY calls DESC LIMIT 20"
    )


def by_gpu_sql(names: Sequence[str]) -> str:
    """Calls and mean duration of some kernels on each GPU."""
    listed = ", ".join(text_literal(name) for name in names)
    return (
        "SELECT gpuId, count(*) AS calls, sum(end - start) AS total_ns, avg(end - start) AS "
        f"mean_ns FROM op WHERE gpuId IS NOT -1 AND description IN ({listed}) "
        "GROUP BY gpuId ORDER BY gpuId"
    )


def longest_calls_sql(name: str) -> str:
    """The longest calls of a kernel."""
    return (
        "SELECT id, gpuId, queueId, start, end - start AS duration_ns FROM op WHERE "
        f"gpuId IS NOT -1 AND description = {text_literal(name)} "
        "ORDER BY duration_ns DESC, id LIMIT 20"
    )


def over_time_sql(name: str, windows: int = 10) -> str:
    """The mean duration of a kernel in equal parts of its calls, in order of time."""
    return (
        "SELECT part, count(*) AS calls, avg(duration_ns) AS mean_ns, min(start) AS from_ns FROM "
        f"(SELECT start, end - start AS duration_ns, ntile({windows}) OVER (ORDER BY start) AS "
        f"part FROM op WHERE gpuId IS NOT -1 AND description = {text_literal(name)}) GROUP BY part"
    )


def coverage_sql() -> str:
    """What the recorder says it saw, timed, skipped and lost."""
    return (
        "SELECT s.string AS reason, sum(seen) AS seen, sum(timed) AS timed, sum(skipped) AS "
        "skipped, sum(lost) AS lost FROM wavescope_coverage c LEFT JOIN rocpd_string s ON "
        "s.id = c.reason_id GROUP BY s.string"
    )


def numbered_sql() -> str:
    """How many dispatches there are, and between which numbers."""
    return (
        "SELECT count(*) AS dispatches, min(sequenceId) AS first_number, max(sequenceId) AS "
        "last_number FROM rocpd_op WHERE sequenceId > 0 AND gpuId IS NOT -1"
    )


def unlinked_sql() -> str:
    """How many ops have a call that launched them."""
    return (
        "SELECT count(*) AS ops, count(api_id) AS launched FROM rocpd_op o LEFT JOIN "
        "rocpd_api_ops l ON l.op_id = o.id WHERE o.gpuId IS NOT -1"
    )


def queues_sql(gpu: int) -> str:
    """The ops and summed durations of each queue of a GPU."""
    return (
        "SELECT queueId, count(*) AS ops, sum(end - start) AS total_ns, min(start) AS first_ns, "
        f"max(end) AS last_ns FROM op WHERE {on_gpu(gpu)} AND opType NOT LIKE '%barrier%' "
        "GROUP BY queueId ORDER BY total_ns DESC"
    )


def inversions_sql() -> str:
    """Ops that began before the call that launched them."""
    return (
        "SELECT o.id, o.start AS op_start, a.start AS call_start, a.start - o.start AS early_ns "
        "FROM rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id JOIN rocpd_api a ON "
        "a.id = l.api_id WHERE o.start < a.start ORDER BY early_ns DESC LIMIT 20"
    )


def labelled_ops_sql(labels: Sequence[str]) -> str:
    """How often ops of some names (of types, where they have no name) ran, and for how long."""
    listed = ", ".join(text_literal(label) for label in labels)
    return (
        "SELECT coalesce(nullif(description, ''), opType) AS label, count(*) AS calls, "
        "sum(end - start) AS total_ns, avg(end - start) AS mean_ns, min(id) AS first_op FROM op "
        f"WHERE gpuId IS NOT -1 AND coalesce(nullif(description, ''), opType) IN ({listed}) "
        "GROUP BY label ORDER BY total_ns DESC"
    )
