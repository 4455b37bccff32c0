"""Damage to the structure of a SQLite file: what a disk or an attacker does and no checksum tells."""

from __future__ import annotations

import random
from collections.abc import Callable

PAGE_BYTES = 512
LEAF, INTERIOR = 0x0D, 0x05

Damage = Callable[[bytearray, random.Random], None]


def _pages(content: bytearray, kind: int) -> list[int]:
    """Where the pages of a kind begin; the first page holds the schema."""
    return [at for at in range(PAGE_BYTES, len(content), PAGE_BYTES) if content[at] == kind]


def _pointers(content: bytearray, page: int) -> list[int]:
    """Where the pointers to the cells of a page lie."""
    first = page + (8 if content[page] == LEAF else 12)
    count = int.from_bytes(content[page + 3 : page + 5], "big")
    return [first + 2 * index for index in range(count)]


def _cell(content: bytearray, page: int, pointer: int) -> int:
    return page + int.from_bytes(content[pointer : pointer + 2], "big")


def _two_pointers(
    content: bytearray, chance: random.Random, kind: int = LEAF
) -> tuple[int, int, int]:
    pages = [page for page in _pages(content, kind) if len(_pointers(content, page)) > 1]
    page = chance.choice(pages)
    first, second = chance.sample(_pointers(content, page), 2)
    return page, first, second


def swap_cells(content: bytearray, chance: random.Random) -> None:
    """Rows out of order."""
    _, first, second = _two_pointers(content, chance)
    one, other = content[first : first + 2], content[second : second + 2]
    content[first : first + 2], content[second : second + 2] = other, one


def repeat_cell(content: bytearray, chance: random.Random) -> None:
    """One row twice."""
    _, first, second = _two_pointers(content, chance)
    content[first : first + 2] = content[second : second + 2]


def overlap_cells(content: bytearray, chance: random.Random) -> None:
    """A cell that begins inside of another one."""
    page, first, second = _two_pointers(content, chance)
    inside = _cell(content, page, second) - page + chance.randint(1, 12)
    content[first : first + 2] = inside.to_bytes(2, "big")


def grow_cell(content: bytearray, chance: random.Random) -> None:
    """A record that says it is longer than it is."""
    page, pointer, _ = _two_pointers(content, chance)
    at = _cell(content, page, pointer)
    content[at] = min(content[at] + chance.randint(1, 20), 0x7F)


def change_rowid(content: bytearray, chance: random.Random) -> None:
    """A rowid of one byte that is another one."""
    page, pointer, _ = _two_pointers(content, chance)
    content[_cell(content, page, pointer) + 1] = chance.randrange(0x80)


def change_record_header(content: bytearray, chance: random.Random) -> None:
    """Another number of columns, or other types."""
    page, pointer, _ = _two_pointers(content, chance)
    content[_cell(content, page, pointer) + chance.randint(3, 7)] = chance.randrange(256)


def swap_children(content: bytearray, chance: random.Random) -> None:
    """Leaves in the wrong order."""
    page, first, second = _two_pointers(content, chance, INTERIOR)
    one, other = _cell(content, page, first), _cell(content, page, second)
    content[one : one + 4], content[other : other + 4] = (
        content[other : other + 4],
        content[one : one + 4],
    )


def repeat_child(content: bytearray, chance: random.Random) -> None:
    """A leaf twice."""
    page, first, second = _two_pointers(content, chance, INTERIOR)
    one, other = _cell(content, page, first), _cell(content, page, second)
    content[one : one + 4] = content[other : other + 4]


def loop(content: bytearray, chance: random.Random) -> None:
    """An interior page that is its own descendant."""
    page = chance.choice(_pages(content, INTERIOR))
    target = chance.choice(_pages(content, INTERIOR)) // PAGE_BYTES + 1
    at = chance.choice([page + 8, _cell(content, page, _pointers(content, page)[0])])
    content[at : at + 4] = target.to_bytes(4, "big")


def change_key(content: bytearray, chance: random.Random) -> None:
    """An interior key that does not fit the rows below it."""
    page, pointer, _ = _two_pointers(content, chance, INTERIOR)
    content[_cell(content, page, pointer) + 4 + chance.randint(0, 1)] = chance.randrange(256)


def change_overflow(content: bytearray, chance: random.Random) -> None:
    """An overflow page that is followed by another one than before."""
    others = [
        at
        for at in range(PAGE_BYTES, len(content), PAGE_BYTES)
        if content[at] not in (LEAF, INTERIOR)
    ]
    at = chance.choice(others)
    target = chance.choice(others) // PAGE_BYTES + 1
    content[at : at + 4] = target.to_bytes(4, "big")


def change_page_type(content: bytearray, chance: random.Random) -> None:
    """A page of another kind."""
    page = chance.choice(_pages(content, LEAF) + _pages(content, INTERIOR))
    content[page] = chance.choice((LEAF, INTERIOR, 0x02, 0x0A, 0))


def change_cell_count(content: bytearray, chance: random.Random) -> None:
    """A page with fewer cells, or more."""
    page = chance.choice(_pages(content, LEAF) + _pages(content, INTERIOR))
    content[page + 4] = chance.randrange(30)


DAMAGES: dict[str, Damage] = {
    damage.__name__: damage
    for damage in (
        swap_cells,
        repeat_cell,
        overlap_cells,
        grow_cell,
        change_rowid,
        change_record_header,
        swap_children,
        repeat_child,
        loop,
        change_key,
        change_overflow,
        change_page_type,
        change_cell_count,
    )
}
