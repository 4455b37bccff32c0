"""What a kernel takes of a chip, and how much of it the chip sets aside."""

from __future__ import annotations

from dataclasses import dataclass

from wavescope.errors import UsageError
from wavescope.model.chips.chip_table import Accumulators, Chip, RegisterFile

_LARGEST_WORKGROUP = 1024
_ARCH_GRANULE_BEFORE_ACCUMULATORS = 4


@dataclass(frozen=True)
class KernelResources:
    """Registers of one lane, LDS and work-items of one workgroup; `wave_size` 0 is the default."""

    vgprs: int
    agprs: int = 0
    sgprs: int = 0
    lds_bytes: int | None = 0
    """None where it is not known: what fits is then an upper bound."""
    workgroup_size: int = 256
    wave_size: int = 0
    cu_mode: bool = False
    """On chips that pool two compute units: use each of them alone."""


@dataclass(frozen=True)
class StatedResources:
    """What the user says himself; None leaves it to the files of the capture."""

    chip: Chip | None = None
    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None
    lds_bytes: int | None = None
    workgroup_size: int | None = None
    wave_size: int = 0
    cu_mode: bool = False

    def kernel(self) -> tuple[Chip, KernelResources]:
        """Chip and resources where no file tells more; a usage error where that is too little."""
        if self.chip is None or self.vgprs is None:
            raise UsageError(
                "no kernel was given",
                hint="give a capture, or at least a chip and the number of VGPRs: "
                "--arch gfx942 --vgpr 128",
            )
        size = self.workgroup_size
        return self.chip, KernelResources(
            vgprs=self.vgprs,
            agprs=self.agprs or 0,
            sgprs=self.sgprs or 0,
            lds_bytes=self.lds_bytes or 0,
            workgroup_size=KernelResources.workgroup_size if size is None else size,
            wave_size=self.wave_size,
            cu_mode=self.cu_mode,
        )


@dataclass(frozen=True)
class ComputeUnit:
    """What the waves of a kernel share: one compute unit, or the two of a WGP."""

    name: str
    simds: int
    wave_slots: int
    lds_bytes: int
    barriers: int


def compute_unit(chip: Chip, resources: KernelResources) -> ComputeUnit:
    """The compute unit, or pair of them, that a workgroup of the kernel runs on."""
    is_pair = chip.pools_two_cus and not resources.cu_mode
    count = 2 if is_pair else 1
    simds = count * chip.simds_per_cu
    return ComputeUnit(
        "WGP" if is_pair else "CU",
        simds,
        simds * chip.waves_per_simd,
        count * chip.lds_bytes_per_cu,
        count * chip.barriers_per_cu,
    )


def register_file(chip: Chip, resources: KernelResources) -> RegisterFile:
    """The vector registers of one SIMD at the kernel's wave size."""
    return chip.registers[wave_size(chip, resources)]


def wave_size(chip: Chip, resources: KernelResources) -> int:
    """Lanes of a wave of the kernel."""
    return resources.wave_size or chip.wave_size


def waves_per_workgroup(chip: Chip, resources: KernelResources) -> int:
    """Waves of one workgroup; the last of them may be partly empty."""
    return -(-resources.workgroup_size // wave_size(chip, resources))


def allocated_vgprs(chip: Chip, resources: KernelResources) -> int:
    """Vector registers that one wave takes from the file, accumulators with them."""
    granule = register_file(chip, resources).granule
    return max(_rounded_up(combined_vgprs(chip, resources), granule), granule)


def combined_vgprs(chip: Chip, resources: KernelResources) -> int:
    """The count that is rounded to the granule: by the rule for accumulators of the chip."""
    if chip.accumulators is Accumulators.UNIFIED and resources.agprs:
        before = _rounded_up(resources.vgprs, _ARCH_GRANULE_BEFORE_ACCUMULATORS)
        return before + resources.agprs
    return max(resources.vgprs, resources.agprs)


def allocated_sgprs(chip: Chip, resources: KernelResources) -> int:
    """Scalar registers that one wave takes; 0 where all waves have the same number."""
    if not chip.sgprs_per_simd:
        return 0
    return max(_rounded_up(resources.sgprs, chip.sgpr_granule), chip.sgpr_granule)


def allocated_lds_bytes(chip: Chip, resources: KernelResources) -> int:
    """LDS that one workgroup takes, 0 where that is not known."""
    return _rounded_up(resources.lds_bytes or 0, chip.lds_granule_bytes)


def check_resources(chip: Chip, resources: KernelResources) -> None:
    """Refuse what no kernel can ask for on this chip."""
    if wave_size(chip, resources) not in chip.registers:
        sizes = " and ".join(str(size) for size in chip.registers)
        raise UsageError(f"{chip.name} has waves of {sizes}, not of {resources.wave_size}")
    if resources.agprs and chip.accumulators is Accumulators.NONE:
        raise UsageError(f"{chip.name} has no accumulation registers (AGPRs)")
    largest = chip.addressable_vgprs
    for label, value, most in (
        ("VGPRs", resources.vgprs, _addressable_together(chip)),
        ("AGPRs", resources.agprs, largest),
        ("LDS bytes", resources.lds_bytes or 0, chip.lds_limit_bytes),
        ("work-items of a workgroup", resources.workgroup_size, _LARGEST_WORKGROUP),
    ):
        if not 0 <= value <= most:
            raise UsageError(f"{value:,} {label} are out of range: {chip.name} has 0 to {most:,}")
    if resources.sgprs < 0 or resources.workgroup_size < 1:
        raise UsageError("a workgroup has at least 1 work-item, and registers are not negative")


def _addressable_together(chip: Chip) -> int:
    """Some tools count accumulators as VGPRs, so a unified file allows both counts in one."""
    unified = chip.accumulators is Accumulators.UNIFIED
    return chip.addressable_vgprs * (2 if unified else 1)


def _rounded_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
