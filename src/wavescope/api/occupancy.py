"""How many waves of a kernel fit on a chip, by its figures or its capture; the chips themselves."""

from __future__ import annotations

from wavescope.analyze.occupancy import (
    StatedResources,
    chips_table,
    occupancy_of,
    occupancy_result,
)
from wavescope.model.chips.chip_table import chip_named
from wavescope.model.chips.chip_table import chips as all_chips
from wavescope.model.paths import PathLike
from wavescope.model.progress import Progress, no_progress
from wavescope.model.result import Result


def occupancy(
    chip: str = "",
    *,
    capture: PathLike | None = None,
    vgprs: int | None = None,
    agprs: int | None = None,
    sgprs: int | None = None,
    lds_bytes: int | None = None,
    workgroup_size: int | None = None,
    wave_size: int = 0,
    cu_mode: bool = False,
    progress: Progress = no_progress,
) -> Result:
    """How many waves of a kernel fit on a chip, what limits them, what one more takes.

    Of a traced kernel the files of `capture` tell the figures; those that are given go before.
    """
    stated = StatedResources(
        chip=chip_named(chip) if chip else None,
        vgprs=vgprs,
        agprs=agprs,
        sgprs=sgprs,
        lds_bytes=lds_bytes,
        workgroup_size=workgroup_size,
        wave_size=wave_size,
        cu_mode=cu_mode,
    )
    if capture is None:
        return occupancy_result(occupancy_of(*stated.kernel()))
    from wavescope.analyze.capture import traced_occupancy_result  # noqa: PLC0415  a third of the time
    from wavescope.formats.captures import ReadOptions, load_capture, only_capture  # noqa: PLC0415

    options = ReadOptions(reads_waves=False, progress=progress)
    return traced_occupancy_result(load_capture(only_capture(capture), options), stated)


def chips() -> Result:
    """The table of chips: what limits occupancy, and published peaks."""
    return Result("Chips", [chips_table(list(all_chips().values()))])


def matrix_instructions(chip: str) -> Result:
    """The matrix instructions of a chip: cycles, and what must lie between them and their use."""
    from wavescope.analyze.matrix_instructions import matrix_result  # noqa: PLC0415  seldom asked

    return matrix_result(chip_named(chip))
