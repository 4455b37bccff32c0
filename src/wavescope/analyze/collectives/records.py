"""What is recorded of collectives: by the framework around the launch, and in kernels' names."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import orjson

from wavescope.analyze.calls.call_inputs import call_arguments
from wavescope.analyze.calls.call_tree import nearest_calls
from wavescope.analyze.collectives.bandwidth import (
    Message,
    Operation,
    element_bytes_of,
    operation_of,
)
from wavescope.analyze.ops.op_links import RowArray, op_links
from wavescope.model.trace import Trace

_RECORD = "record_param_comms"
_KERNEL = re.compile(r"nccl(?:Dev)?Kernel_(?P<words>\w+)")
_OTHER_KERNEL = re.compile(
    r"(?P<all_reduce>cross_device_reduce|all_?reduce)|all_?gather|reduce_?scatter|all_?to_?all",
    re.IGNORECASE,
)
"""Collectives that are not the library's: engines bring kernels of their own."""
_ALGORITHMS = frozenset({"RING", "TREE", "COLLNET", "DIRECT", "CHAIN", "NVLS", "PAT"})
_PROTOCOLS = frozenset({"LL", "LL128", "SIMPLE"})
_REDUCTIONS = frozenset({"Sum", "Prod", "Max", "Min", "MinMax", "PreMulSum", "SumPostDiv"})
_MOST_ELEMENTS = 1 << 60
_MOST_CHARACTERS = 4096


class CollectiveUse(NamedTuple):
    """What one op is a use of; equal ones are one row of the table."""

    operation: str
    """What was recorded, else what the kernel's name says."""
    group: str | None
    group_size: int | None
    dtype: str | None
    message: Message
    kernel_variant: str | None
    """What the kernel's name says of algorithm, protocol and reduction."""


def collective_uses(trace: Trace, op_rows: RowArray) -> list[CollectiveUse]:
    """For each of these ops, which are collectives, what is known of it."""
    names = [trace.strings[code] for code in trace.ops["name"][op_rows].tolist()]
    from_kernel = {name: use_of_kernel(name) for name in set(names)}
    records = collective_records(trace, op_rows)
    known: dict[tuple[bytes, str], CollectiveUse] = {}
    uses = []
    for name, record in zip(names, records, strict=True):
        told = {key: record.get(key) for key in _KEYS} if record else {}
        key = (orjson.dumps(told), name)
        if key not in known:
            kernel = from_kernel[name]
            known[key] = use_of_record(told, kernel) if _text(told.get(_NAME)) else kernel
        uses.append(known[key])
    return uses


def collective_records(trace: Trace, op_rows: RowArray) -> list[dict[str, Any]]:
    """The arguments of the record around each op's launch; empty where there is none for it alone.

    What is recorded for several kernels together tells nothing of one of them.
    """
    if not len(trace.links) or trace.strings.find(_RECORD) < 0:
        return [{}] * len(op_rows)
    links = trace.derived(op_links)
    launch = np.full(len(trace.ops), -1, np.int64)
    launch[links.op_rows] = links.call_rows
    record_rows = nearest_calls(trace, launch[op_rows], _RECORD)
    uses = Counter(record_rows.tolist())
    is_alone = np.array([row >= 0 and uses[row] == 1 for row in record_rows.tolist()], np.bool_)
    documents, place = call_arguments(trace, record_rows[is_alone])
    told = iter([documents[index] for index in place])
    return [next(told) if alone else {} for alone in is_alone.tolist()]


_NAME = "Collective name"
_KEYS = (
    _NAME,
    "In msg nelems",
    "Out msg nelems",
    "dtype",
    "Group size",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
    "In split size",
    "Out split size",
)


def use_of_record(record: dict[str, Any], kernel: CollectiveUse) -> CollectiveUse:
    """What a record with the name of a collective says, beside what the kernel's name does."""
    told = {key: record.get(key) for key in _KEYS}
    dtype, name = _text(told["dtype"]), str(told[_NAME])
    ranks = _listed(told["Process Group Ranks"])
    group_size = _count(told["Group size"]) or len(ranks) or None
    message = Message(
        operation_of(name),
        _count(told["In msg nelems"]),
        _count(told["Out msg nelems"]),
        element_bytes_of(dtype) if dtype else None,
        group_size,
        _is_uneven(told["In split size"]) or _is_uneven(told["Out split size"]),
    )
    group = _group_text(told["Process Group Name"], told["Process Group Description"], ranks)
    return CollectiveUse(name, group, group_size, dtype, message, kernel.kernel_variant)


def use_of_kernel(name: str) -> CollectiveUse:
    """What the name of a kernel says of the collective."""
    found = _KERNEL.search(name[:_MOST_CHARACTERS])
    words = found["words"].split("_") if found else []
    operation = operation_of(words[0]) if words else _other_operation(name)
    variant = [
        word for kind in (_ALGORITHMS, _PROTOCOLS, _REDUCTIONS) for word in words if word in kind
    ]
    return CollectiveUse(
        operation.value if operation else "(unknown)",
        group=None,
        group_size=None,
        dtype=None,
        message=Message(operation, None, None, None, None),
        kernel_variant=" ".join(variant) or None,
    )


def _other_operation(name: str) -> Operation | None:
    found = _OTHER_KERNEL.search(name[:_MOST_CHARACTERS])
    if found is None:
        return None
    return Operation.ALL_REDUCE if found["all_reduce"] else operation_of(found[0])


def _group_text(name: object, description: object, ranks: list[int]) -> str | None:
    words = [text for text in (_text(name), _text(description)) if text and text != "undefined"]
    return " ".join(words) or (str(ranks) if ranks else None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 < value < _MOST_ELEMENTS else None


def _is_uneven(value: object) -> bool:
    return len(set(_listed(value))) > 1


def _listed(value: object) -> list[int]:
    """The numbers of a list, or of its text."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return []
    return [each for each in value if type(each) is int] if isinstance(value, list) else []
