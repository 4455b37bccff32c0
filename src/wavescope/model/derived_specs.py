"""Numbers of a machine that follow from its chip and the way its dies and memory are split."""

from __future__ import annotations

from collections.abc import Mapping

_DIES = {"spx": 8, "dpx": 4, "qpx": 2, "cpx": 1}
_CHANNELS_PER_DIE = {"gfx906": 16, "gfx908": 32, "gfx90a": 32}
_MEMORY_PARTITIONS = {"nps1": 128, "nps2": 64, "nps4": 32, "nps8": 16}
_LDS_BANKS, _PIPES, _WAVE_SIZE = 32, 4, 64


def derived_specs(system: Mapping[str, str], facts: Mapping[str, float]) -> dict[str, float]:
    """What the chip and its partitions imply, given the other facts of the machine."""
    chip = system["gpu_arch"].strip().lower()
    partition = system.get("compute_partition", "").strip().lower()
    model = system.get("gpu_model", "").upper()
    single_die = chip in _CHANNELS_PER_DIE
    whole = 6 if "MI300A" in model else 4 if "MI308" in model else _DIES["spx"]
    dies = 1 if single_die else min(_DIES.get(partition, whole), whole)
    dies = int(facts.get("num_xcd", dies))
    channels = facts.get("total_l2_chan", _CHANNELS_PER_DIE.get(chip, 16) * dies)
    memory = system.get("memory_partition", "").strip().lower()
    return {
        "num_xcd": float(dies),
        "total_l2_chan": float(channels),
        "num_hbm_channels": float(_MEMORY_PARTITIONS.get(memory, channels)),
        "lds_banks_per_cu": float(_LDS_BANKS),
        "pipes_per_gpu": float(_PIPES),
        "wave_size": float(_WAVE_SIZE),
    }
