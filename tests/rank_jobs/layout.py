"""How ranks stand on hosts and in process groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ranks = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Hosts:
    """Ranks stand on hosts one after the other."""

    rank_count: int
    gpus_per_host: int = 8

    @cached_property
    def of_rank(self) -> Ranks:
        return np.arange(self.rank_count) // self.gpus_per_host

    @property
    def count(self) -> int:
        return -(-self.rank_count // self.gpus_per_host)

    def ranks_of(self, host: int) -> tuple[int, ...]:
        return tuple(np.flatnonzero(self.of_rank == host).tolist())


@dataclass(frozen=True)
class Layout:
    """Groups of equal size that share the ranks among them."""

    description: str
    members: Ranks
    """[group, member]: ranks."""
    names: tuple[str, ...]
    """One for each group; the same ones where the program gives all of them one name."""

    @property
    def size(self) -> int:
        return int(self.members.shape[1])

    @cached_property
    def group_of_rank(self) -> Ranks:
        found = np.full(int(self.members.max()) + 1, -1, np.int64)
        for group, ranks in enumerate(self.members):
            found[ranks] = group
        return found

    def crosses(self, hosts: Hosts) -> npt.NDArray[np.bool_]:
        """For each group whether its ranks stand on several hosts."""
        of = hosts.of_rank[self.members]
        result: npt.NDArray[np.bool_] = (of != of[:, :1]).any(axis=1)
        return result


class Layouts:
    """The groups of a job, numbered as a program makes them."""

    def __init__(self, rank_count: int, *, has_own_names: bool) -> None:
        self._rank_count = rank_count
        self._has_own_names = has_own_names
        self._next = 1
        self.world = Layout("default_pg", np.arange(rank_count).reshape(1, -1), ("0",))

    def rows(self, description: str, size: int) -> Layout:
        """Neighbours form groups of `size`."""
        return self._named(description, np.arange(self._rank_count).reshape(-1, size))

    def columns(self, description: str, stride: int, block: int | None = None) -> Layout:
        """Ranks that are `stride` apart form groups, within blocks of `block` ranks."""
        block = block or self._rank_count
        blocks = np.arange(self._rank_count).reshape(-1, block // stride, stride)
        return self._named(description, blocks.transpose(0, 2, 1).reshape(-1, block // stride))

    def _named(self, description: str, members: Ranks) -> Layout:
        if self._has_own_names:
            names = tuple(str(self._next + number) for number in range(len(members)))
            self._next += len(members)
        else:
            names = (str(self._next),) * len(members)
            self._next += 1
        return Layout(description, members, names)
