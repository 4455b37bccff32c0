"""Results of several workloads side by side in one."""

from __future__ import annotations

from wavescope.model.result import Result


def joined_results(results: list[Result]) -> Result:
    """One result of several runs; tables of later ones are called `run_2.NAME` and so on."""
    first, *others = results
    for run, other in enumerate(others, 2):
        first.facts[f"run_{run}"] = other.facts.get("path")
        for table in other.tables:
            table.name, table.title = f"run_{run}.{table.name}", f"run {run}: {table.title}"
        first.tables += other.tables
        first.findings += other.findings
    return first
