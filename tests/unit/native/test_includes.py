"""Each native file includes what it uses of the standard library: with precompiled headers no compiler tells."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

NATIVE = Path(__file__).parents[3] / "native"
SOURCES = sorted(
    path
    for path in NATIVE.rglob("*")
    if path.suffix in (".cpp", ".h") and not {"tests", "fuzz"} & {*path.relative_to(NATIVE).parts}
)
NAMES = {
    "algorithm": "all_of any_of binary_search clamp copy copy_n count_if equal_range fill fill_n find find_if is_sorted"
    " lower_bound max_element min_element none_of partition_point remove_if replace reverse rotate sort stable_sort"
    " transform unique upper_bound",
    "array": "array",
    "atomic": "atomic atomic_thread_fence memory_order_acquire memory_order_relaxed memory_order_release",
    "chrono": "chrono",
    "functional": "function greater less",
    "map": "map multimap",
    "memory": "make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag scoped_lock unique_lock",
    "optional": "nullopt optional",
    "set": "multiset set",
    "string": "string to_string",
    "string_view": "string_view",
    "thread": "thread this_thread",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": "exchange pair",
    "vector": "vector",
}
HEADER_OF = {name: header for header, names in NAMES.items() for name in names.split()}
BARE = {
    **dict.fromkeys(("memchr", "memcmp", "memcpy", "memmove", "memset", "strcmp", "strlen", "strncmp"), "cstring"),
    **dict.fromkeys(("fclose", "fprintf", "snprintf"), "cstdio"),
    **dict.fromkeys(("calloc", "getenv", "malloc", "realloc", "strtoull"), "cstdlib"),
    **dict.fromkeys(("int64_t", "uint16_t", "uint32_t", "uint64_t", "uint8_t"), "cstdint"),
}  # fmt: skip
"""Functions and types that also stand without `std::`."""


@cache
def _text(path: Path) -> str:
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"(?!\s*$)', "", path.read_text(), flags=re.MULTILINE)


@cache
def _included(path: Path) -> frozenset[str]:
    """Headers of the library that a file includes, itself or by files of ours."""
    found: set[str] = set()
    for bracket, name in re.findall(
        r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', path.read_text(), re.MULTILINE
    ):
        if bracket == "<":
            found.add({"stdint.h": "cstdint", "string.h": "cstring"}.get(name, name))
        else:
            places = (NATIVE / name, path.parent / name)
            found |= next((_included(place) for place in places if place.exists()), frozenset())
    return frozenset(found)


def _used(path: Path) -> set[str]:
    text = _text(path)
    of_library = (name for name in re.findall(r"\bstd::(\w+)", text) if name in HEADER_OF)
    return {
        *map(HEADER_OF.__getitem__, of_library),
        *(BARE[word] for word in re.findall(r"\b\w+\b", text) if word in BARE),
    }


def test_what_files_use_of_the_library_they_include() -> None:
    assert len(SOURCES) > 200
    missing = {str(path.relative_to(NATIVE)): _used(path) - _included(path) for path in SOURCES}

    assert {name: headers for name, headers in missing.items() if headers} == {}
