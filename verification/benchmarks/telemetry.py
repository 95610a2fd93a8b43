"""Cost of logs and traces per read step: `python -m verification.benchmarks.telemetry [--rounds 40]`. Sides are
interleaved.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from statistics import median

import aiohttp
import uvloop

from companyos.cli.terminal import OUT, plain_table
from companyos.enterprise import HOST, Enterprise
from verification.benchmarks.clients import READ, CompanyPlayer, WebSocketClient
from verification.benchmarks.measurements import p50_us
from verification.ports import free_port, wait_for_port
from verification.process_stats import tree_cpu_seconds

STEPS_A_ROUND = 50
WARM_STEPS = 5
EXPORT_PAUSE_S = 6.0
"""Spans are exported every five seconds; the final export is part of the cost."""

_SINK = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Sink(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Sink).serve_forever()
"""


def sides(collector: str) -> dict[str, dict[str, str]]:
    """Return the settings of each side by name; the first is the reference."""
    traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector, "NO_PROXY": "*"}
    tenth = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.1"}
    return {
        "log at error": {"COMPANYOS_LOG_LEVEL": "error"},
        "log at info, JSON": {"COMPANYOS_LOG_FORMAT": "json"},
        "every step traced": traced,
        "a tenth of the steps traced": traced | tenth,
    }


async def play(urls: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """Step each side in turn, and return the step times by side, in seconds."""
    durations: dict[str, list[float]] = {name: [] for name in urls}
    async with aiohttp.ClientSession() as session, AsyncExitStack() as stack:
        players = {}
        for name, url in urls.items():
            socket = await stack.enter_async_context(session.ws_connect(url.replace("http", "ws", 1) + "/ws"))
            players[name] = CompanyPlayer(WebSocketClient(socket), seed=1)
        for _ in range(rounds):
            for name, player in players.items():
                for _ in range(WARM_STEPS):
                    await player.step(READ)
                durations[name] += [await player.step(READ) for _ in range(STEPS_A_ROUND)]
    return durations


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m verification.benchmarks.telemetry", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds: int = parser.parse_args().rounds
    with ExitStack() as stack:
        settings_by_side = sides(stack.enter_context(_sink()))
        running = {
            name: stack.enter_context(Enterprise(settings=side, alone=True)) for name, side in settings_by_side.items()
        }
        before = {name: tree_cpu_seconds(enterprise.pid) for name, enterprise in running.items()}
        durations = uvloop.run(play({name: enterprise.url for name, enterprise in running.items()}, rounds))
        asyncio.run(asyncio.sleep(EXPORT_PAUSE_S))
        spent = {name: tree_cpu_seconds(enterprise.pid) - before[name] for name, enterprise in running.items()}
    table = plain_table(f"read steps over WebSocket, {rounds * STEPS_A_ROUND} per side, interleaved")
    for column in ("", "p50", "x", "processor time per step", "x"):
        table.add_column(column, justify="right" if column else "left")
    steps = rounds * (STEPS_A_ROUND + WARM_STEPS)
    first = next(iter(durations))
    for name, seconds in durations.items():
        table.add_row(
            name,
            f"{p50_us(seconds):,.0f} us",
            f"{median(seconds) / median(durations[first]):.2f}",
            f"{1e6 * spent[name] / steps:,.0f} us",
            f"{spent[name] / spent[first]:.2f}",
        )
    OUT.print(table)


@contextmanager
def _sink() -> Iterator[str]:
    """Run a collector that discards everything, in a subprocess."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", _SINK, str(port)])
    try:
        wait_for_port(port)
        yield f"http://{HOST}:{port}"
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
