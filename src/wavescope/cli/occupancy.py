"""`wavescope occupancy`: how many waves fit, what limits them, what one more takes."""

from __future__ import annotations

import argparse

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_capture_argument
from wavescope.cli.options import OutputOptions, add_output_flags, add_quiet_flag
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.model.result import Result


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_capture_argument(
        parser,
        "capture: a ui_output_agent_*_dispatch_* folder, a folder above it, or a zip or tar",
        required=False,
    )
    group = parser.add_argument_group("the kernel")
    group.add_argument("--arch", metavar="CHIP", help="such as gfx942; --chips lists all")
    group.add_argument("--vgpr", metavar="N", type=_count, help="vector registers of a lane")
    group.add_argument("--agpr", metavar="N", type=_count, help="accumulation registers")
    group.add_argument("--sgpr", metavar="N", type=_count, help="scalar registers of a wave")
    group.add_argument("--lds", metavar="BYTES", type=_count, help="LDS of a workgroup")
    group.add_argument(
        "--workgroup", metavar="N", type=_count, help="work-items of a workgroup (default 256)"
    )
    group.add_argument("--wave", type=int, choices=(32, 64), help="lanes of a wave")
    group.add_argument(
        "--cu-mode", action="store_true", help="RDNA: compute units alone, not in pairs (WGP)"
    )
    group.add_argument("--chips", action="store_true", help="show the table of chips instead")
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    print_result(wavescope.chips() if arguments.chips else _of_kernel(arguments), output)
    return 0


def _of_kernel(arguments: argparse.Namespace) -> Result:
    with Progress(
        f"reading {arguments.capture or arguments.arch}", quiet=arguments.quiet
    ) as progress:
        return wavescope.occupancy(
            arguments.arch or "",
            capture=arguments.capture,
            vgprs=arguments.vgpr,
            agprs=arguments.agpr,
            sgprs=arguments.sgpr,
            lds_bytes=arguments.lds,
            workgroup_size=arguments.workgroup,
            wave_size=arguments.wave or 0,
            cu_mode=arguments.cu_mode,
            progress=progress,
        )


def _count(text: str) -> int:
    """A number, decimal or 0x1f."""
    try:
        value = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 31:
        raise argparse.ArgumentTypeError(f"'{text}' is not a count")
    return value


COMMAND = Command(
    "occupancy",
    "Show how many waves of a kernel run at once on each SIMD, which resource limits them "
    "(registers, LDS, slots, barriers), and what must change for one more. docs/occupancy.md "
    "defines every number and says where the table of chips is from.",
    (
        Example(
            "wavescope occupancy --arch gfx942 --vgpr 144 --agpr 136 --lds 16384 --sgpr 96",
            "a kernel by its figures",
        ),
        Example("wavescope occupancy ui_output_agent_1_dispatch_3", "a traced kernel"),
        Example("wavescope occupancy --arch gfx1100 --vgpr 96 --wave 32", "RDNA, waves of 32"),
        Example("wavescope occupancy --chips", "the table of chips"),
    ),
    _add_arguments,
    _run,
)
