"""Cost of browser actions: `python -m verification.benchmarks.screenshots [--rounds 20]`.

The gateway needs `companyos[browser]`.
"""

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

from companyos.cli.terminal import OUT, plain_table
from companyos.client import CompanyOSEnv
from companyos.enterprise import Enterprise
from verification.benchmarks.measurements import Measurements, p50_us
from verification.process_stats import process_tree, tree_cpu_seconds

TASK: dict[str, Any] = {"scenario": "license_renewal", "seed": 11, "chaos": 0, "modality": "screenshot"}
MAX_WINDOWS = 8
AT_ONCE = (1, 2, 4)
WARM_LOOKS = 3
PAGES = ("/", "/ticketdesk/", "/datahub/", "/approvalflow/")
_MIB = 1024 * 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m verification.benchmarks.screenshots", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds: int = parser.parse_args().rounds
    before = os.getloadavg()
    measurements = Measurements()
    with Enterprise(alone=True) as enterprise:
        uvloop.run(measure(enterprise, measurements, rounds))
    with Enterprise(alone=True) as enterprise:
        uvloop.run(measure_memory(enterprise, measurements))
    table = plain_table(f"browser actions, {rounds} rounds; load {before[0]:.1f} before, on {os.cpu_count()} cores")
    for column in ("figure", "value", ""):
        table.add_column(column, justify="right" if column == "value" else "left")
    for measurement in measurements.all:
        table.add_row(measurement.name, f"{measurement.value:,.4g}", measurement.unit)
    OUT.print(table)


async def measure(enterprise: Enterprise, measurements: Measurements, rounds: int) -> None:
    """Measure the start of a window, each kind of action, and concurrent windows."""
    url = enterprise.url
    async with CompanyOSEnv(base_url=url) as env:
        measurements.add("first reset: Chromium starts", await _timed(lambda: env.reset(**TASK)), "s")
        measurements.add(
            "reset with a window, p50", _ms([await _timed(lambda: env.reset(**TASK)) for _ in range(5)]), "ms"
        )
        await _measure_actions(env, measurements, rounds)
        before = tree_cpu_seconds(enterprise.pid)
        for at in range(rounds):
            await env.call_tool("browser_goto", address=PAGES[at % len(PAGES)])
            await env.call_tool("browser_scroll", dy=100)
        spent = tree_cpu_seconds(enterprise.pid) - before
        measurements.add("processor time of a free action, all processes", 1000 * spent / (2 * rounds), "ms")
    for count in AT_ONCE:
        measurements.add(f"free actions in {count} concurrent episodes", await _rate(url, count, rounds), "/s")


async def _measure_actions(env: CompanyOSEnv, measurements: Measurements, rounds: int) -> None:
    kinds: dict[str, Callable[[int], Awaitable[Any]]] = {
        "free action: scroll": lambda at: env.call_tool("browser_scroll", dy=40 if at % 2 else -40),
        "free action: type into a field": lambda at: env.call_tool("browser_type", text=f"{at}", replace=True),
        "free action: open a page": lambda at: env.call_tool("browser_goto", address=PAGES[at % len(PAGES)]),
        "tool call with a screenshot": lambda _: env.call_tool("datahub_list_sources"),
    }
    form_durations: list[float] = []
    for name, act in kinds.items():
        await env.call_tool("browser_goto", address="/")
        await env.call_tool("browser_click", testid="finish-summary")
        for at in range(WARM_LOOKS):
            await act(at)
        measurements.add(f"{name}, p50", _ms([await _timed(partial(act, at)) for at in range(rounds)]), "ms")
    for _ in range(min(rounds, 10)):
        await env.call_tool("browser_goto", address="/")
        await env.call_tool("browser_click", testid="wait-minutes-int")
        await env.call_tool("browser_type", text="1")
        began = time.perf_counter()
        answer = await env.call_tool("browser_press", key="Enter")
        form_durations.append(time.perf_counter() - began)
        assert answer.observation.tool_name == "wait", answer.observation
    measurements.add("step: submit a form, p50", _ms(form_durations), "ms")
    screenshot = answer.observation.screenshot
    assert screenshot is not None
    measurements.add("observation of the desk", len(screenshot.model_dump_json()) / 1024, "KiB")


async def _rate(url: str, count: int, rounds: int) -> float:
    """Return the free actions per second of `count` concurrent agents, each in its own episode."""
    envs = [await CompanyOSEnv(base_url=url).__aenter__() for _ in range(count)]
    try:
        await asyncio.gather(*(env.reset(**TASK) for env in envs))

        async def act(env: CompanyOSEnv, actions: int) -> None:
            for at in range(actions):
                await env.call_tool("browser_goto", address=PAGES[at % len(PAGES)])
                await env.call_tool("browser_scroll", dy=100)

        await asyncio.gather(*(act(env, 2) for env in envs))
        began = time.perf_counter()
        await asyncio.gather(*(act(env, rounds) for env in envs))
        return 2 * rounds * count / (time.perf_counter() - began)
    finally:
        for env in envs:
            await env.close()


async def measure_memory(enterprise: Enterprise, measurements: Measurements) -> None:
    """Measure the browser's memory with one window and with several."""
    browser_bytes: list[int] = []
    envs: list[CompanyOSEnv] = []
    try:
        for _ in range(1 + MAX_WINDOWS):
            envs.append(await CompanyOSEnv(base_url=enterprise.url).__aenter__())
            await envs[-1].reset(**TASK)
            for address in PAGES:
                await envs[-1].call_tool("browser_goto", address=address)
            browser_bytes.append(_browser_bytes(enterprise))
    finally:
        for env in envs:
            await env.close()
    measurements.add("memory of Chromium and its driver with one window", browser_bytes[0] / _MIB, "MiB")
    measurements.add("memory per additional window", (browser_bytes[-1] - browser_bytes[0]) / MAX_WINDOWS / _MIB, "MiB")


def _browser_bytes(enterprise: Enterprise) -> int:
    """Return the memory of the browser's processes in bytes (proportional set size)."""
    assert enterprise.pid is not None
    return sum(_proportional_bytes(process) for process in process_tree(enterprise.pid) if _is_of_browser(process))


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


async def _timed(act: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await act()
    return time.perf_counter() - began


def _ms(seconds: list[float]) -> float:
    return p50_us(seconds) / 1000


if __name__ == "__main__":
    main()
