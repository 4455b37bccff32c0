"""The GPUs of a rocpd file, numbered so that one number is one GPU in all its processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from wavescope.formats.rocpd.part import AGENT_FACTS, NODES, Part, text, whole
from wavescope.formats.sqlite.lookup import ValueByKey
from wavescope.model.columns import UNKNOWN

_DESCRIPTION_LIMIT_BYTES = 8 << 20


@dataclass(frozen=True)
class _Agent:
    """One GPU as one process sees it."""

    part: Part
    own_id: int
    identity: tuple[str, int]
    """What tells its machine from others, and it from the machine's other GPUs."""
    row: dict[str, int | str]

    @property
    def local_index(self) -> int:
        return int(self.row["local_index"])


def number_gpus(parts: Sequence[Part]) -> list[dict[str, int | str]]:
    """Rows for the trace's agents; each part learns the number of its own GPUs."""
    agents = [agent for part in parts for agent in _gpus_of(part)]
    numbers = _numbers(agents)
    for part in parts:
        part.gpus = ValueByKey.of(
            {agent.own_id: numbers[agent.identity] for agent in agents if agent.part is part}
        )
    first_seen = {agent.identity: agent for agent in reversed(agents)}
    rows = [{**agent.row, "gpu": numbers[identity]} for identity, agent in first_seen.items()]
    return sorted(rows, key=lambda row: row["gpu"])


def _numbers(agents: Sequence[_Agent]) -> dict[tuple[str, int], int]:
    """The index that the runtime gave each GPU where that is unique, else 0, 1, 2, ... ."""
    nodes = list(dict.fromkeys(agent.identity[0] for agent in agents))
    indexes = {agent.identity: agent.local_index for agent in agents}
    numbers = set(indexes.values())
    if len(numbers) == len(indexes) and all(0 <= number < 2**31 for number in numbers):
        return indexes
    ordered = sorted(indexes, key=lambda key: (nodes.index(key[0]), indexes[key], key[1]))
    return {identity: number for number, identity in enumerate(ordered)}


def _gpus_of(part: Part) -> list[_Agent]:
    nodes = {
        whole(own_id): text(machine) or text(name) or f"{part.suffix} {own_id}"
        for own_id, machine, name in part.rows(NODES, "id", "machine_id", "hostname")
    }
    columns = (
        "id",
        "nid",
        "type",
        "absolute_index",
        "type_index",
        "name",
        "product_name",
        "model_name",
        "extdata",
    )
    agents = []
    for own_id, nid, kind, place, index, chip, product, model, description in part.rows(
        AGENT_FACTS, *columns
    ):
        if kind != "GPU":
            continue
        row: dict[str, int | str] = {
            "local_index": whole(index),
            "host": part.hosts.get(whole(nid), ""),
            "chip": text(chip),
            "model": text(product) or text(model),
            **_described(description),
        }
        # Without its place on the machine a GPU cannot be known again in another process.
        identity = (
            (nodes.get(whole(nid), part.suffix), place)
            if isinstance(place, int)
            else (part.suffix, whole(own_id))
        )
        agents.append(_Agent(part, whole(own_id), identity, row))
    return agents


def _described(description: object) -> dict[str, int | str]:
    """What the agent's full description says beyond the table's own columns."""
    stored = text(description)
    try:
        facts = orjson.loads(stored) if len(stored) <= _DESCRIPTION_LIMIT_BYTES else {}
    except orjson.JSONDecodeError:
        facts = {}
    if not isinstance(facts, dict):
        facts = {}
    banks = facts.get("mem_banks")
    banks = [bank for bank in banks if isinstance(bank, dict)] if isinstance(banks, list) else []
    sizes = [_number(bank.get("size_in_bytes")) for bank in banks]
    return {
        "uuid": _uuid(facts.get("uuid")),
        "cu_count": _number(facts.get("cu_count")),
        "clock_mhz": _number(facts.get("max_engine_clk_fcompute")),
        "wave_size": _number(facts.get("wave_front_size")),
        "memory_bytes": _number(sum(size for size in sizes if size > 0) or UNKNOWN),
    }


def _uuid(stored: Any) -> str:
    """The digits of the unique id, as the reader of rocprofv3's JSON gives them."""
    values = stored.get("bytes") if isinstance(stored, dict) else None
    if not isinstance(values, dict):
        return ""
    numbers = [_number(value) & 0xFF for value in list(values.values())[:16]]
    return bytes(numbers).hex() if any(numbers) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) and -(2**63) <= value < 2**63 else UNKNOWN
