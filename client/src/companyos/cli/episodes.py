"""`companyos episodes`: what is being played on a running enterprise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from companyos.cli.results import signed
from companyos.cli.session import DEFAULT_URL, JsonOption, RunningUrlOption, TokenOption, running_server
from companyos.cli.terminal import OUT, clear_errors, data_table, day_and_time, id_width, print_json, shown

if TYPE_CHECKING:
    from companyos.contract import CompanyOSState


def episodes(as_json: JsonOption = False, url: RunningUrlOption = DEFAULT_URL, token: TokenOption = None) -> None:
    """List the live episodes: task, steps taken, return so far, simulated time.

    Examples:

      [cyan]companyos episodes[/]
      [cyan]companyos episodes --url http://127.0.0.1:9000[/]
      [cyan]companyos episodes --json | jq -r '.\\[].episode_id'[/]
    """
    import asyncio

    with clear_errors():
        listed = asyncio.run(_fetch(url, token))
    if as_json:
        print_json([episode.model_dump(mode="json", exclude={"token"}) for episode in listed])
    elif listed:
        _print(listed)
    else:
        OUT.print("[dim]no episode is live[/]")


async def _fetch(url: str, token: str | None) -> list[CompanyOSState]:
    async with running_server(url, token).trainer() as trainer:
        return await trainer.episodes()


def _print(listed: list[CompanyOSState]) -> None:
    table = data_table()
    width = id_width(episode.episode_id for episode in listed)
    table.add_column("episode", style="bold cyan", overflow="fold", min_width=width)
    table.add_column("scenario", overflow="ellipsis")
    for number in ("seed", "chaos", "step", "return"):
        table.add_column(number, justify="right", no_wrap=True)
    table.add_column("now", no_wrap=True)
    for episode in listed:
        ended = f"[dim]{episode.outcome}[/]" if episode.done else None
        table.add_row(
            shown(str(episode.episode_id)),
            shown(episode.scenario or ""),
            str(episode.seed),
            str(episode.chaos),
            str(episode.step_count),
            signed(episode.return_),
            ended or day_and_time(episode.now),
        )
    OUT.print(table)
