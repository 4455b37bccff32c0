"""Plans of counter passes: complete, within the slots, as few as possible, always the same."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.analyze.counters.catalogue import CHIPS, catalogue_for
from wavescope.analyze.counters.choice import chosen_blocks, chosen_metrics
from wavescope.analyze.counters.planning.profile import (
    CounterPass,
    known_slots,
    needed_counters,
    planned_passes,
)
from wavescope.errors import UsageError

BLOCKS = ("SQ", "SQC", "TA", "TD", "TCP", "TCC", "CPC", "CPF", "SPI", "GRBM")
counters = st.builds("{}_C{}".format, st.sampled_from(BLOCKS), st.integers(0, 40))
groups = st.lists(st.lists(counters, max_size=12), max_size=40)


def whole_plan(chip: str, *blocks: str) -> list[CounterPass]:
    catalogue = catalogue_for(chip)
    metrics = chosen_metrics(catalogue, chosen_blocks(catalogue, blocks))
    return planned_passes([needed_counters(catalogue, metric) for metric in metrics])


def require_sound(passes: list[CounterPass], wanted: set[str]) -> None:
    slots = known_slots()
    collected = [counter for each in passes for counter in each.counters]
    assert set(collected) == wanted | {"SQ_WAVES", "GRBM_GUI_ACTIVE"}
    assert len(collected) == len(set(collected))
    for each in passes:
        used = Counter(map(slots.block, each.counters))
        assert all(count <= slots.by_block[block] for block, count in used.items())
    assert len({each.name for each in passes}) == len(passes)


@given(groups=groups)
def test_every_counter_is_collected_once_in_the_fewest_runs(groups: list[list[str]]) -> None:
    wanted = {counter for group in groups for counter in group}

    passes = planned_passes(groups)

    require_sound(passes, wanted)
    assert len(passes) == known_slots().runs_needed(wanted | {"SQ_WAVES", "GRBM_GUI_ACTIVE"})
    assert passes == planned_passes(list(reversed(groups)))


@pytest.mark.parametrize("chip", CHIPS)
def test_a_whole_chip_needs_as_many_runs_as_its_slots_say(chip: str) -> None:
    passes = whole_plan(chip)

    require_sound(passes, {counter for each in passes for counter in each.counters})
    # 97 or 98 counters of SQ and SQC in eights, 79 of the L2 of gfx950 in fours.
    assert len(passes) == (20 if chip == "gfx950" else 13)


def test_a_level_counter_has_a_run_of_its_own_name() -> None:
    passes = {each.name: each.counters for each in whole_plan("gfx942", "7.2", "12")}

    assert {"SQ_LEVEL_WAVES", "SQ_LEVEL_WAVES_ACCUM"} <= set(passes["SQ_LEVEL_WAVES"])
    assert {"SQ_INST_LEVEL_LDS", "SQ_INST_LEVEL_LDS_ACCUM"} <= set(passes["SQ_INST_LEVEL_LDS"])
    accumulated = [name for each in passes.values() for name in each if name.endswith("_ACCUM")]
    assert len(accumulated) == 2


def test_a_few_metrics_need_one_run_and_are_measured_together() -> None:
    (only,) = whole_plan("gfx90a", "17.3.0")

    assert only.name == "pmc_perf_0"
    assert {"SQ_WAVES", "GRBM_GUI_ACTIVE"} < set(only.counters)


def test_channels_of_a_counter_stay_together() -> None:
    counters = {counter for each in whole_plan("gfx942", "18.1") for counter in each.counters}

    assert {"TCC_HIT[]", "TCC_MISS[]"} <= counters


def test_a_group_that_fits_one_run_is_not_split() -> None:
    metric = [f"TCC_C{number}" for number in range(4)]
    others = [[f"TCC_C{number}"] for number in range(4, 12)]

    passes = planned_passes([*others, metric])

    assert any(set(metric) <= set(each.counters) for each in passes)
    assert len(passes) == 3


def test_a_counter_of_no_block_is_named() -> None:
    with pytest.raises(UsageError, match="'XYZ_BUSY' is a counter of no known block"):
        planned_passes([["XYZ_BUSY"]])
