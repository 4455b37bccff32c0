"""What recorded PyTorch programs do, one scenario each; tests know how often each kernel runs.

python3 torch_scenarios.py NAME [FILE]
"""

import json
import sys
import time

import torch


def operators() -> None:
    """30 sines in one range, 20 exponentials in another, 5 copies to the GPU."""
    values = torch.ones(1024, device="cuda")
    with torch.cuda.nvtx.range("phase one"):
        for _ in range(30):
            values.sin_()
    with torch.cuda.nvtx.range("phase two"):
        for _ in range(20):
            values.exp_()
    for _ in range(5):
        values.copy_(torch.ones(1024))
    torch.cuda.synchronize()


def graph(replays: int = 40, rest_s: float = 0) -> None:
    """A graph of 5 sines, replayed; 15 sines before it was captured. Rests after every 50 replays."""
    values = torch.ones(1024, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(15):
            values.sin_()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for _ in range(5):
            values.sin_()
    for number in range(replays):
        with torch.cuda.nvtx.range(f"step {number}"):
            captured.replay()
        if number % 50 == 49:
            time.sleep(rest_s)
    torch.cuda.synchronize()


def long_graph() -> None:
    """As `graph` for some seconds: slices of it are recorded in lite mode."""
    graph(20_000, rest_s=0.005)


def profiler(path: str) -> None:
    """50 sines, 20 exponentials under torch.profiler, then many cosines."""
    from torch.profiler import ProfilerActivity, profile

    values = torch.ones(1024, device="cuda")
    for _ in range(50):
        values.sin_()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as session:
        for _ in range(20):
            values.exp_()
        torch.cuda.synchronize()
    session.export_chrome_trace(path)
    end_s = time.monotonic() + 3
    while time.monotonic() < end_s:
        values.cos_()
        torch.cuda.synchronize()
        time.sleep(0.001)


def _worker(rank: int) -> None:
    values = torch.ones(1024, device="cuda")
    for _ in range(10 * (rank + 1)):
        values.sin_()
    torch.cuda.synchronize()


def workers() -> None:
    """Two processes, with 10 and 20 sines."""
    torch.multiprocessing.spawn(_worker, nprocs=2)


def distributed() -> None:
    """A rank that torchrun started: ten sines and ten more for each rank before it; a sum over all."""
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    total = torch.ones(4) * (rank + 1)
    _worker(rank)
    torch.distributed.all_reduce(total)
    torch.distributed.destroy_process_group()
    print(int(total[0]))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"done": sys.argv[1]}))
