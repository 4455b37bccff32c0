"""GPUs, hosts and links: what is launched runs when it can, in true time.

Each rank has a host thread that launches one op after the other and may be far ahead of its GPU,
a queue of compute, and queues of communication. A collective begins on a rank when its inputs are
there and ends on all when the last has begun and the data is through. All ranks are computed at
once: every time is an array over ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.rank_jobs.conditions import PYTHON_STALLS, Conditions
from tests.rank_jobs.layout import Hosts, Layout
from tests.rank_jobs.noise import Noise, Values

COMPUTE_QUEUE = 7
LAUNCH_LATENCY_NS = 4_000.0
_HAND_OVER_NS = 2_000.0
"""From the end of compute to the beginning of the communication that waits for it."""
_LAUNCH_NS = 11_000.0
_DATA_NS = 150_000.0
_INSIDE = (12_000.0, 150.0)
"""Latency in ns and bus bandwidth in bytes per ns within a host."""
_BETWEEN = (25_000.0, 45.0)
_P2P_BYTES_PER_NS = {False: 100.0, True: 25.0}


@dataclass(frozen=True)
class Kernel:
    """A kernel of the program."""

    name: str
    nominal_ns: float
    work_items: int = 1 << 20
    clock_share: float = 1.0
    """How much of a lower clock it feels: kernels that wait for memory feel less."""
    grows: bool = True
    """Whether it takes longer where a rank has more work."""


@dataclass(frozen=True)
class Operation:
    """A collective as the framework calls it, and the kernel that runs it."""

    name: str
    kernel: str
    in_elements: int
    out_elements: int
    bus_factor: float
    """Bytes through each link / message bytes."""
    message_bytes: int
    dtype: str = "BFloat16"


@dataclass(frozen=True)
class Issued:
    """One op as all ranks ran it; NaN where a rank did not."""

    kernel: str
    queue: int
    step: int
    call_start: Values
    launch: Values
    start: Values
    end: Values
    work: Values
    operation: Operation | None = None
    layout: Layout | None = None
    sequence: Values | None = None
    exchange: Values | None = None
    peer: Values | None = None
    in_elements: Values | None = None
    out_elements: Values | None = None
    is_graph: bool = False


@dataclass(frozen=True)
class PendingSend:
    """Sends that were launched, and when their data is there."""

    senders: np.ndarray
    call_start: Values
    launch: Values
    ready: Values
    sequence: Values


@dataclass
class Run:
    """Everything that happened, in true time."""

    issued: list[Issued] = field(default_factory=list)
    step_begins: list[Values] = field(default_factory=list)
    """For each step when each host began it."""
    step_ends: list[Values] = field(default_factory=list)
    """When each host was through with it."""
    step_done: list[float] = field(default_factory=list)
    """When the last GPU had done everything that was launched in it."""
    graph_calls: list[tuple[Values, Values]] = field(default_factory=list)


class Machine:
    """The state of all ranks while a program runs."""

    def __init__(
        self,
        hosts: Hosts,
        conditions: Conditions,
        noise: Noise,
        launches_per_step: Values | None = None,
    ) -> None:
        self.rank_count = hosts.rank_count
        self.all_ranks = np.arange(hosts.rank_count)
        self.run = Run()
        self.noise = noise
        self._hosts = hosts
        self._conditions = conditions
        usual = np.zeros(hosts.rank_count) if launches_per_step is None else launches_per_step
        self._stalls_at = np.rint(np.outer(PYTHON_STALLS, usual))
        self._host = np.zeros(hosts.rank_count)
        self._queues: dict[int, Values] = {COMPUTE_QUEUE: np.zeros(hosts.rank_count)}
        self._step = -1
        self._graph: Values | None = None
        self._exchange_count = 0
        self._sequences: dict[str, Values] = {}
        self._pair_sequences = np.zeros(hosts.rank_count)
        self._last_done = np.zeros(hosts.rank_count)
        self._launches = np.zeros(hosts.rank_count)
        """Launches of each rank in the current step."""
        self._has_stalls = False
        self._crossing: dict[int, np.ndarray] = {}

    @property
    def work(self) -> Values:
        """How much work each rank has in this step, 1 if nothing is wrong."""
        return self._conditions.work[self._step]

    def begin_step(self, data_ns: float = _DATA_NS) -> None:
        """Hosts fetch their data and begin the next step."""
        self._step += 1
        self._launches[:] = 0
        self._has_stalls = bool(self._conditions.python_stall_ns[self._step].any())
        self.run.step_begins.append(self._host.copy())
        factor, extra = self.noise.launch()
        self._host += data_ns * factor + extra + self._conditions.data_stall_ns[self._step]

    def end_step(self, *, waits_for_gpu: bool) -> None:
        """Hosts are through with a step; they may read a value back, which waits for the GPU."""
        if waits_for_gpu:
            self._host = np.maximum(self._host, self._queues[COMPUTE_QUEUE]) + LAUNCH_LATENCY_NS
        self.run.step_ends.append(self._host.copy())
        self.run.step_done.append(float(self._last_done.max()))

    def begin_graph(self) -> None:
        """What follows is launched by one call."""
        call_start, self._graph = self._launched(self.all_ranks)
        self.run.graph_calls.append((call_start, self._graph))

    def end_graph(self) -> None:
        self._graph = None

    def kernel(
        self, kernel: Kernel, who: np.ndarray | None = None, work: Values | None = None
    ) -> None:
        """Run a kernel on the compute queue of the ranks `who`, with `work` times the work."""
        who = self.all_ranks if who is None else who
        call_start, launch = self._launched(who)
        queue = self._queues[COMPUTE_QUEUE]
        factor, extra = self.noise.kernel()
        amount = self._conditions.work[self._step] if kernel.grows else np.ones(self.rank_count)
        amount = amount if work is None else amount * work
        slowdown = 1 + (self._conditions.slowdown[self._step] - 1) * kernel.clock_share
        length = kernel.nominal_ns * amount * slowdown * self.noise.gpu_factor * factor + extra
        start = np.maximum(launch + LAUNCH_LATENCY_NS, queue)
        end = start + length
        queue[who] = end[who]
        self._note_done(who, end)
        self._issue(
            who,
            Issued(
                kernel.name,
                COMPUTE_QUEUE,
                self._step,
                call_start,
                launch,
                start,
                end,
                np.rint(kernel.work_items * amount / 256) * 256,
                is_graph=self._graph is not None,
            ),
        )

    def collective(
        self,
        layout: Layout,
        operation: Operation,
        queue: int,
        *,
        who: np.ndarray | None = None,
        after: Values | None = None,
        in_share: Values | None = None,
        out_share: Values | None = None,
    ) -> Values:
        """Run a collective in each group (of which all members are in `who`); when it ends.

        Its inputs are there `after` that, else when compute is done that was launched before.
        """
        who = self.all_ranks if who is None else who
        groups = np.unique(layout.group_of_rank[who])
        members = layout.members[groups]
        call_start, launch = self._launched(who)
        ready = self.compute_done() if after is None else after
        start = np.maximum(launch + LAUNCH_LATENCY_NS, self._queue(queue))
        start = np.maximum(start, ready + _HAND_OVER_NS)
        transfer = self._transfer_ns(layout, operation, groups)
        if in_share is not None and out_share is not None:
            # The rank that sends or receives most decides.
            transfer = transfer * np.maximum(in_share, out_share)[members].max(axis=1)
        end = np.full(self.rank_count, np.nan)
        jitter = self.noise.end_jitter_ns(members.shape)
        end[members] = (start[members].max(axis=1) + transfer)[:, None] + jitter
        self._queues[queue][who] = end[who]
        self._note_done(who, end)
        exchange = np.full(self.rank_count, -1.0)
        exchange[members] = (self._exchange_count + np.arange(len(groups)))[:, None]
        self._exchange_count += len(groups)
        self._issue_collective(
            who,
            operation,
            (call_start, launch, start, end),
            queue=queue,
            layout=layout,
            exchange=exchange,
            in_share=in_share,
            out_share=out_share,
        )
        return end

    def send(self, senders: np.ndarray) -> PendingSend:
        """Launch sends of what compute makes now; they run when the receivers are there."""
        call_start, launch = self._launched(senders)
        ready = np.maximum(launch + LAUNCH_LATENCY_NS, self.compute_done() + _HAND_OVER_NS)
        self._pair_sequences[senders] += 1
        return PendingSend(senders, call_start, launch, ready, self._pair_sequences.copy())

    def receive(
        self,
        layout: Layout,
        message_bytes: int,
        sent: PendingSend,
        receivers: np.ndarray,
        queues: tuple[int, int],
    ) -> Values:
        """Launch the receives of what was sent to the rank beside; when each of them is done.

        The queues are those of the senders and of the receivers.
        """
        senders, elements = sent.senders, message_bytes // 2
        received = self._launched(receivers)
        self._pair_sequences[receivers] += 1
        # A receive needs no input: only its queue and its launch.
        receive_start = np.maximum(received[1] + LAUNCH_LATENCY_NS, self._queue(queues[1]))
        send_start = np.maximum(sent.ready, self._queue(queues[0]))
        done = np.maximum(send_start[senders], receive_start[receivers])
        done = done + self._pair_transfer_ns(message_bytes, senders, receivers)
        end = np.full(self.rank_count, np.nan)
        numbers = self._exchange_count + np.arange(len(senders))
        self._exchange_count += len(senders)
        send = Operation("send", SEND_RECV_KERNEL, elements, 0, 1.0, message_bytes)
        receive = Operation("recv", SEND_RECV_KERNEL, 0, elements, 1.0, message_bytes)
        for who, others, times, queue, operation, sequence in (
            (
                senders,
                receivers,
                (sent.call_start, sent.launch, send_start),
                queues[0],
                send,
                sent.sequence,
            ),
            (
                receivers,
                senders,
                (*received, receive_start),
                queues[1],
                receive,
                self._pair_sequences.copy(),
            ),
        ):
            own_end = np.full(self.rank_count, np.nan)
            own_end[who] = done + self.noise.end_jitter_ns((len(who),))
            self._queue(queue)[who] = own_end[who]
            self._note_done(who, own_end)
            exchange, peer = np.full((2, self.rank_count), -1.0)
            exchange[who], peer[who] = numbers, others
            self._issue_collective(
                who,
                operation,
                (*times, own_end),
                queue=queue,
                layout=layout,
                exchange=exchange,
                peer=peer,
                sequence=sequence,
            )
            end = own_end
        return end

    def compute_done(self) -> Values:
        """When everything is done that was launched on the compute queues so far."""
        return self._queues[COMPUTE_QUEUE].copy()

    def compute_waits_for(self, ends: Values, who: np.ndarray | None = None) -> None:
        """What is launched from now on begins after `ends`."""
        who = self.all_ranks if who is None else who
        queue = self._queues[COMPUTE_QUEUE]
        queue[who] = np.maximum(queue[who], ends[who])

    def _launched(self, who: np.ndarray) -> tuple[Values, Values]:
        """When each host began and ended the call that launches the next op."""
        if self._graph is not None:
            return self._graph, self._graph
        self._launches[who] += 1
        factor, extra = self.noise.launch()
        cost = _LAUNCH_NS * factor + extra
        if self._has_stalls:
            stalls = self._conditions.python_stall_ns[self._step] / len(PYTHON_STALLS)
            self._host[who] += (stalls * (self._launches == self._stalls_at).any(axis=0))[who]
        call_start = self._host.copy()
        self._host[who] += cost[who]
        return call_start, self._host.copy()

    def _queue(self, queue: int) -> Values:
        if queue not in self._queues:
            self._queues[queue] = np.zeros(self.rank_count)
        return self._queues[queue]

    def _transfer_ns(self, layout: Layout, operation: Operation, groups: np.ndarray) -> Values:
        if id(layout) not in self._crossing:
            self._crossing[id(layout)] = layout.crosses(self._hosts)
        crosses = self._crossing[id(layout)][groups]
        latency = np.where(crosses, _BETWEEN[0], _INSIDE[0])
        speed = np.where(crosses, _BETWEEN[1], _INSIDE[1])
        factors = self._conditions.transfer_factors(self._step, layout)[groups]
        factors = factors * self.noise.transfer(len(groups))
        return latency + operation.message_bytes * operation.bus_factor / speed * factors

    def _pair_transfer_ns(
        self, message_bytes: int, senders: np.ndarray, receivers: np.ndarray
    ) -> Values:
        crosses = self._hosts.of_rank[senders] != self._hosts.of_rank[receivers]
        speed = np.where(crosses, _P2P_BYTES_PER_NS[True], _P2P_BYTES_PER_NS[False])
        latency = np.where(crosses, _BETWEEN[0], _INSIDE[0])
        factors = self._conditions.pair_factors(self._step, senders, receivers)
        return latency + message_bytes / speed * factors * self.noise.transfer(len(senders))

    def _issue_collective(
        self,
        who: np.ndarray,
        operation: Operation,
        times: tuple[Values, Values, Values, Values],
        *,
        queue: int,
        layout: Layout,
        exchange: Values,
        in_share: Values | None = None,
        out_share: Values | None = None,
        peer: Values | None = None,
        sequence: Values | None = None,
    ) -> None:
        if sequence is None:
            counted = self._sequences.setdefault(layout.description, np.zeros(self.rank_count))
            counted[who] += 1
            sequence = counted.copy()
        ones = np.ones(self.rank_count)
        self._issue(
            who,
            Issued(
                operation.kernel,
                queue,
                self._step,
                *times,
                np.full(self.rank_count, 24.0 * 512),
                operation,
                layout,
                sequence,
                exchange,
                peer,
                np.rint(operation.in_elements * (ones if in_share is None else in_share)),
                np.rint(operation.out_elements * (ones if out_share is None else out_share)),
                is_graph=self._graph is not None,
            ),
        )

    def _issue(self, who: np.ndarray, issued: Issued) -> None:
        if len(who) < self.rank_count:
            ran = issued.start[who]
            issued.start[:] = np.nan
            issued.start[who] = ran
        self.run.issued.append(issued)

    def _note_done(self, who: np.ndarray, end: Values) -> None:
        self._last_done[who] = np.maximum(self._last_done[who], end[who])


SEND_RECV_KERNEL = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def nccl_kernel(words: str) -> str:
    """The name of the library's kernel, such as of AllReduce_Sum_bf16_RING_LL."""
    return f"ncclDevKernel_{words}(ncclDevKernelArgsStorage<4096ul>)"


def all_reduce(message_bytes: int, size: int) -> Operation:
    """An all-reduce of so many bytes in a group of `size`."""
    elements, factor = message_bytes // 2, 2 * (size - 1) / size
    name = "RING_LL" if message_bytes < 1 << 20 else "RING_SIMPLE"
    kernel = nccl_kernel(f"AllReduce_Sum_bf16_{name}")
    return Operation("allreduce", kernel, elements, elements, factor, message_bytes)


def norm_reduce(size: int) -> Operation:
    """The all-reduce of one number: the norm of all gradients, before the optimizer."""
    kernel = nccl_kernel("AllReduce_Sum_f32_RING_LL")
    return Operation("allreduce", kernel, 1, 1, 2 * (size - 1) / size, 4, "Float")


def all_gather(message_bytes: int, size: int) -> Operation:
    """An all-gather after which each rank has so many bytes."""
    elements = message_bytes // 2
    kernel = nccl_kernel("AllGather_RING_LL")
    own = elements // size
    return Operation("_allgather_base", kernel, own, own * size, (size - 1) / size, 2 * own * size)


def reduce_scatter(message_bytes: int, size: int) -> Operation:
    """A reduce-scatter of so many bytes of each rank."""
    own = message_bytes // 2 // size
    kernel = nccl_kernel("ReduceScatter_Sum_bf16_RING_LL")
    return Operation(
        "_reduce_scatter_base", kernel, own * size, own, (size - 1) / size, 2 * own * size
    )


def all_to_all(message_bytes: int, size: int) -> Operation:
    """An all-to-all with uneven parts, of so many bytes of each rank on average."""
    elements = message_bytes // 2
    return Operation(
        "all_to_allv", SEND_RECV_KERNEL, elements, elements, (size - 1) / size, message_bytes
    )
