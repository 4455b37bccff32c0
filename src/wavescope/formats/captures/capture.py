"""Reads a whole capture: the table of contents of this folder's readers."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from wavescope.formats.captures.code_rows import CodeFile, read_code
from wavescope.formats.captures.kernel_facts import read_agents, read_kernel_facts
from wavescope.formats.captures.locations import CODE_FILE, CaptureLocation, neighbours
from wavescope.formats.captures.occupancy_file import read_occupancy, read_realtime
from wavescope.formats.captures.source_files import read_sources
from wavescope.formats.captures.waves import (
    MOST_EVENTS,
    WaveIndex,
    read_wave_index,
    read_waves,
)
from wavescope.model.capture import AgentFacts, Capture, CaptureFacts, CaptureNotes, no_waves
from wavescope.model.progress import Progress, no_progress

_CODE_OBJECT = re.compile(r"(gfx[0-9a-f]{3,5})_code_object_id_\d+\.out\Z")
_CHIP_IN_NAME = re.compile(r"(?<![a-z0-9])gfx(?:9[0-9a-f]{2}|1[0-2][0-9]{2})(?![a-z0-9])")


@dataclass(frozen=True)
class ReadOptions:
    """How much of a capture is read."""

    reads_waves: bool = True
    most_events: int = MOST_EVENTS
    progress: Progress = no_progress
    """Told how many wave files of how many are done."""


def load_capture(location: CaptureLocation, options: ReadOptions | None = None) -> Capture:
    """The capture at `location`; raises UnreadableInputError when there is no usable code.json."""
    options = options or ReadOptions()
    notes = CaptureNotes()
    tree, folder = location.tree, location.folder
    code = read_code(tree, posixpath.join(folder, CODE_FILE), notes)
    index = read_wave_index(tree, folder, notes)
    waves = no_waves()
    if options.reads_waves:
        waves = read_waves(
            tree,
            index.files,
            code.instructions,
            notes,
            most_events=options.most_events,
            progress=options.progress,
        )
    instructions = code.instructions
    paths = dict.fromkeys(frame.path for frames in instructions.frames for frame in frames)
    sources = read_sources(tree, folder, paths, notes)
    facts = read_kernel_facts(location, code.kernel_name, notes)
    agents = read_agents(location, notes)
    return Capture(
        facts=_capture_facts(location, code, index, agents),
        kernel_name=code.kernel_name or (facts.kernel_name if facts else ""),
        instructions=instructions,
        waves=waves,
        occupancy=read_occupancy(tree, folder, notes),
        sources=sources.found,
        missing_sources=sources.missing,
        clock=read_realtime(tree, folder, notes),
        kernel_facts=facts,
        agents=agents,
        notes=notes,
    )


def _capture_facts(
    location: CaptureLocation, code: CodeFile, index: WaveIndex, agents: list[AgentFacts]
) -> CaptureFacts:
    chip, origin = _stated_chip(location, agents)
    return CaptureFacts(
        name=location.name,
        path=location.path,
        dispatch_id=location.dispatch_id,
        agent_handle=location.agent_handle,
        format_version=code.format_version or index.version,
        gfxip=index.gfxip,
        chip=chip,
        chip_origin=origin,
        counter_names=index.counter_names,
        expected_waves=len(index.files),
    )


def _stated_chip(location: CaptureLocation, agents: list[AgentFacts]) -> tuple[str, str]:
    """The chip that a code object's file name, a list of agents or the capture's name states."""
    chips = {
        found[1]
        for _, name in neighbours(location, _CODE_OBJECT)
        if (found := _CODE_OBJECT.search(posixpath.basename(name)))
    }
    if len(chips) == 1:
        return chips.pop(), "code object file name"
    listed = {agent.chip.partition(":")[0] for agent in agents}
    if len(listed) == 1:
        return listed.pop(), "agent information"
    named = set(_CHIP_IN_NAME.findall(location.name.lower()))
    return (named.pop(), "the capture's name") if len(named) == 1 else ("", "")
