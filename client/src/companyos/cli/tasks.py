"""`companyos tasks`: what there is to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.padding import Padding

from companyos.cli.session import Server, TokenOption, UrlOption, check_seeds, some_server
from companyos.cli.terminal import MISUSED, OUT, clear_errors, fail, plain_table

if TYPE_CHECKING:
    from companyos.contract import CompanyOSResetObservation, ScenarioInfo


def tasks(
    scenario: Annotated[str | None, typer.Argument(help="One scenario: read the briefs of some seeds.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many seeds.")] = 3,
    chaos: Annotated[int, typer.Option(min=0, max=4, help="0 calm, 1 light, 2 moderate, 3 heavy, 4 storm.")] = 1,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """List the scenarios, or read what an agent is told in one of them.

    A task is a scenario, a seed and a chaos level: the same three always give the same company and the same day.

    Examples:

      [cyan]companyos tasks[/]
      [cyan]companyos tasks vendor_onboarding[/]
      [cyan]companyos tasks vendor_onboarding --seed 42 -n 1 --chaos 3[/]
    """
    check_seeds(seed, count)
    with clear_errors(), some_server(url, token) as server:
        listed = _scenarios(server)
        if scenario is None:
            _print_scenarios(listed)
            return
        if scenario not in [known.name for known in listed]:
            fail(f"no scenario is called {scenario!r}; `companyos tasks` lists them", MISUSED)
        briefs = _briefs(server, scenario, range(seed, seed + count), chaos)
    for number, first in briefs.items():
        OUT.print(f"[bold]{scenario}[/] [dim]seed[/] {number} [dim]chaos[/] {chaos}")
        OUT.print(
            f"[dim]{escape(first.company)}, {first.now:%A %d %B %Y, %H:%M}, acting as {escape(first.acting_as)}, "
            f"{first.steps_left} steps[/]"
        )
        OUT.print(Padding(escape(first.brief), (0, 0, 1, 2)))


def _scenarios(server: Server) -> list[ScenarioInfo]:
    import asyncio

    async def read() -> list[ScenarioInfo]:
        async with server.trainer() as trainer:
            return await trainer.scenarios()

    return asyncio.run(read())


def _briefs(server: Server, scenario: str, seeds: range, chaos: int) -> dict[int, CompanyOSResetObservation]:
    import asyncio

    async def read() -> dict[int, CompanyOSResetObservation]:
        async with server.env() as env:
            return {seed: (await env.reset(scenario=scenario, seed=seed, chaos=chaos)).observation for seed in seeds}

    return asyncio.run(read())


def _print_scenarios(listed: list[ScenarioInfo]) -> None:
    table = plain_table()
    table.add_column("scenario", style="bold cyan", no_wrap=True)
    table.add_column("what there is to do")
    for known in listed:
        table.add_row(known.name, escape(known.summary))
    OUT.print(table)
    OUT.print(f"\n[dim]companyos tasks {listed[0].name} reads what an agent is told.[/]" if listed else "no scenario")
