"""Marks its time with wavescope's own functions."""

from __future__ import annotations

import asyncio

import wavescope


@wavescope.range("step")
def step(number: int) -> None:
    wavescope.mark(f"step {number}")


@wavescope.range("request")
async def request() -> None:
    await asyncio.sleep(0.001)


async def serve() -> None:
    await asyncio.gather(request(), request())


with wavescope.range("prefill"):
    step(0)
wavescope.pause()
with wavescope.range("not recorded"):
    step(1)
wavescope.resume()
asyncio.run(serve())
