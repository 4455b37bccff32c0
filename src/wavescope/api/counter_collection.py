"""Collects hardware counters of a program with rocprofv3, and measures how fast a GPU can be."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from wavescope.analyze.counters.metrics import catalogue_for
from wavescope.analyze.counters.planning import (
    ProfileChoice,
    blocks_result,
    plan_result,
    profile_passes,
    sets_result,
    wants_pc_samples,
)
from wavescope.collect.ceilings import (
    CeilingOptions,
    ceilings_result,
    ceilings_text,
    chosen_ceilings,
    measure,
    opened_gpu,
)
from wavescope.collect.counters import (
    Collected,
    CollectOptions,
    CounterPlan,
    collect,
    gpu_here,
    require_no_launcher,
)
from wavescope.model.paths import PathLike
from wavescope.model.progress import Progress, Tell, no_progress, tell_nobody
from wavescope.model.result import Result
from wavescope.outputs import replaced, require_free


def collect_counters(
    options: CollectOptions, *, tell: Tell = tell_nobody, warn: Tell = tell_nobody
) -> Collected:
    """Run the program in passes until all that is asked for and not there yet is collected.

    `tell` hears how far it is, `warn` what is worth knowing in any case.
    """
    return collect(options, partial(_plan, options), tell=tell, warn=warn)


def _plan(options: CollectOptions, chip: str) -> CounterPlan:
    catalogue, choice = catalogue_for(chip), _choice(options)
    passes = partial(profile_passes, catalogue, choice)
    return CounterPlan(chip, passes, wants_pc_samples(catalogue, choice))


def _choice(options: CollectOptions) -> ProfileChoice:
    return ProfileChoice(options.blocks, options.metric_set, options.roof_only)


def collection_plan(options: CollectOptions) -> Result:
    """The runs that would collect what is asked for, and their counters; nothing is run."""
    require_no_launcher(options.command)
    catalogue = catalogue_for(options.chip or gpu_chip(options.device))
    return plan_result(catalogue, profile_passes(catalogue, _choice(options)))


def gpu_chip(device: int = 0) -> str:
    """The chip of a GPU of this machine, such as gfx942."""
    return gpu_here(device).chip


def metric_sets(chip: str) -> Result:
    """Sets of metrics that a single run can collect."""
    return sets_result(catalogue_for(chip))


def counter_blocks(chip: str) -> Result:
    """The panels of a chip, and how many runs of a program each takes."""
    return blocks_result(catalogue_for(chip))


def ceilings(
    options: CeilingOptions | None = None,
    *,
    device: int = 0,
    output: PathLike | None = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> Result:
    """How fast this GPU can be, measured; also written to `output` as a roofline.csv."""
    chosen = options or CeilingOptions()
    chosen_ceilings(chosen.only)
    if output is not None:
        require_free(Path(output), (), force=force)
    with opened_gpu(device) as gpu:
        measured = measure(gpu, chosen, progress)
        name = gpu.name
    if output is not None:
        with replaced(Path(output), (), force=force) as path:
            path.write_text(ceilings_text({device: measured}), encoding="utf-8")
    return ceilings_result(name, measured)
