"""What looking costs: `python -m benchmarks.screenshots [--rounds 20]`. The gateway needs `companyos[browser]`."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.figures import Figures, p50_us
from benchmarks.processes import cpu_seconds, family
from companyos.cli.terminal import OUT, plain_table
from companyos.client import CompanyOSEnv
from companyos.enterprise import Enterprise

TASK: dict[str, Any] = {"scenario": "license_renewal", "seed": 11, "chaos": 0, "modality": "screenshot"}
MOST_WINDOWS = 8
AT_ONCE = (1, 2, 4)
WARM_LOOKS = 3
PAGES = ("/", "/ticketdesk/", "/datahub/", "/approvalflow/")
_MIB = 1024 * 1024


def main() -> None:
    """Measure once and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screenshots", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds: int = parser.parse_args().rounds
    before = os.getloadavg()
    figures = Figures()
    with Enterprise(alone=True) as enterprise:
        uvloop.run(measure(enterprise, figures, rounds))
    with Enterprise(alone=True) as enterprise:
        uvloop.run(measure_memory(enterprise, figures))
    table = plain_table(f"looking, {rounds} rounds; load {before[0]:.1f} before on {os.cpu_count()} cores")
    for column in ("figure", "value", ""):
        table.add_column(column, justify="right" if column == "value" else "left")
    for figure in figures.all:
        table.add_row(figure.name, f"{figure.value:,.4g}", figure.unit)
    OUT.print(table)


async def measure(enterprise: Enterprise, figures: Figures, rounds: int) -> None:
    """Measure a window's start, actions of each kind, and windows at once."""
    url = enterprise.url
    async with CompanyOSEnv(base_url=url) as env:
        figures.add("first reset: Chromium starts", await _took(lambda: env.reset(**TASK)), "s")
        figures.add("reset with a window, p50", _ms([await _took(lambda: env.reset(**TASK)) for _ in range(5)]), "ms")
        await _measure_actions(env, figures, rounds)
        before = _cpu_seconds(enterprise)
        for at in range(rounds):
            await env.call_tool("browser_goto", address=PAGES[at % len(PAGES)])
            await env.call_tool("browser_scroll", dy=100)
        spent = _cpu_seconds(enterprise) - before
        figures.add("processor time of a look, all processes", 1000 * spent / (2 * rounds), "ms")
    for count in AT_ONCE:
        figures.add(f"looks at {count} episodes at once", await _rate(url, count, rounds), "/s")


async def _measure_actions(env: CompanyOSEnv, figures: Figures, rounds: int) -> None:
    kinds: dict[str, Callable[[int], Awaitable[Any]]] = {
        "look: scroll": lambda at: env.call_tool("browser_scroll", dy=40 if at % 2 else -40),
        "look: type into a field": lambda at: env.call_tool("browser_type", text=f"{at}", replace=True),
        "look: open a page": lambda at: env.call_tool("browser_goto", address=PAGES[at % len(PAGES)]),
        "tool call, with the picture": lambda _: env.call_tool("datahub_list_sources"),
    }
    sent: list[float] = []
    for name, act in kinds.items():
        await env.call_tool("browser_goto", address="/")
        await env.call_tool("browser_click", testid="finish-summary")
        for at in range(WARM_LOOKS):
            await act(at)
        figures.add(f"{name}, p50", _ms([await _took(partial(act, at)) for at in range(rounds)]), "ms")
    for _ in range(min(rounds, 10)):
        await env.call_tool("browser_goto", address="/")
        await env.call_tool("browser_click", testid="wait-minutes-int")
        await env.call_tool("browser_type", text="1")
        began = time.perf_counter()
        answer = await env.call_tool("browser_press", key="Enter")
        sent.append(time.perf_counter() - began)
        assert answer.observation.tool_name == "wait", answer.observation
    figures.add("step: a form is sent, p50", _ms(sent), "ms")
    shot = answer.observation.screenshot
    assert shot is not None
    figures.add("observation of the desk", len(shot.model_dump_json()) / 1024, "KiB")


async def _rate(url: str, count: int, rounds: int) -> float:
    """Return how many looks a second there are with so many agents, each in an episode of its own."""
    envs = [await CompanyOSEnv(base_url=url).__aenter__() for _ in range(count)]
    try:
        await asyncio.gather(*(env.reset(**TASK) for env in envs))

        async def look(env: CompanyOSEnv, looks: int) -> None:
            for at in range(looks):
                await env.call_tool("browser_goto", address=PAGES[at % len(PAGES)])
                await env.call_tool("browser_scroll", dy=100)

        await asyncio.gather(*(look(env, 2) for env in envs))
        began = time.perf_counter()
        await asyncio.gather(*(look(env, rounds) for env in envs))
        return 2 * rounds * count / (time.perf_counter() - began)
    finally:
        for env in envs:
            await env.close()


async def measure_memory(enterprise: Enterprise, figures: Figures) -> None:
    """Measure what the browser holds with one window, and with more."""
    held: list[int] = []
    envs: list[CompanyOSEnv] = []
    try:
        for _ in range(1 + MOST_WINDOWS):
            envs.append(await CompanyOSEnv(base_url=enterprise.url).__aenter__())
            await envs[-1].reset(**TASK)
            for address in PAGES:
                await envs[-1].call_tool("browser_goto", address=address)
            held.append(_browser_bytes(enterprise))
    finally:
        for env in envs:
            await env.close()
    figures.add("memory of Chromium and its driver with one window", held[0] / _MIB, "MiB")
    figures.add("memory for each window more", (held[-1] - held[0]) / MOST_WINDOWS / _MIB, "MiB")


def _browser_bytes(enterprise: Enterprise) -> int:
    """Return what the browser's processes hold, shared pages counted once among those that share them."""
    assert enterprise.pid is not None
    return sum(_proportional_bytes(process) for process in family(enterprise.pid) if _is_of_browser(process))


def _is_of_browser(process: int) -> bool:
    with suppress(OSError):
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        return b"chrom" in command or b"playwright" in command
    return False


def _proportional_bytes(process: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _cpu_seconds(enterprise: Enterprise) -> float:
    assert enterprise.pid is not None
    return sum(cpu_seconds(process) for process in family(enterprise.pid))


async def _took(act: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await act()
    return time.perf_counter() - began


def _ms(seconds: list[float]) -> float:
    return p50_us(seconds) / 1000


if __name__ == "__main__":
    main()
