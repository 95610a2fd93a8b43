"""`companyos submit`: makes submissions to the leaderboard, and checks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.connection import Server, connect_or_start
from companyos.cli.eval_runs import play_with_progress, select_tasks
from companyos.cli.rescore import check_public_keys
from companyos.cli.terminal import ERR, OUT, USAGE_ERROR, fail, pluralize, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.leaderboard.card import Card
    from companyos.runner.run_reader import RecordLine

_FAULTS_SHOWN = 20


def submit(
    paths: Annotated[
        list[Path], typer.Argument(metavar="RUN | DIR...", help="The run to submit, or the submissions to --check.")
    ],
    check: Annotated[bool, typer.Option("--check", help="Check submissions: judge and replay every episode.")] = False,
    card: Annotated[
        Path | None, typer.Option(dir_okay=False, metavar="FILE", help="The card of the agent, a TOML file.")
    ] = None,
    out: Annotated[Path | None, typer.Option(file_okay=False, metavar="DIR", help="New folder to write.")] = None,
    no_evidence: Annotated[
        bool, typer.Option("--no-evidence", help="Leave the signed evidence out, which takes most of the space.")
    ] = False,
    public_key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY", help="With --check: accept only evidence that this gateway key signed; repeatable."
        ),
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="With --check: concurrent episodes of the replay.")] = 4,
) -> None:
    """Make a submission to the leaderboard from a run, or check submissions.

    A submission is a folder with `card.toml` and `run.tar.xz`. The check
    compares the run with the tasks of its track, verifies and judges the
    evidence again, and replays every recorded call on a new gateway:
    observations, rewards, verdicts and evidence must be equal. Faults are
    listed with file and line. The exit status is 1 if a submission has faults.

    Examples:

      [cyan]companyos eval --policy mine --split test -n 200 --out runs/mine[/]
      [cyan]companyos submit runs/mine --card card.toml --out mine[/]
      [cyan]companyos submit --check mine[/]
      [cyan]companyos submit --check results/leaderboard/*/*[/]
    """
    if check:
        if card is not None or out is not None or no_evidence:
            fail("--check cannot be combined with --card, --out and --no-evidence", USAGE_ERROR)
        _check_all(paths, check_public_keys(public_key), parallel)
        return
    if card is None or out is None or len(paths) != 1 or public_key:
        missing = [name for name, value in (("--card FILE", card), ("--out DIR", out)) if value is None]
        reason = f"{missing[0]} is missing; " if len(missing) == 1 else ""
        fail(f"{reason}give one RUN with --card FILE and --out DIR, or --check with submissions", USAGE_ERROR)
    _make(paths[0], card, out, with_evidence=not no_evidence)


def _make(run: Path, card: Path, out: Path, *, with_evidence: bool) -> None:
    from companyos.leaderboard.archive import ARCHIVE, pack
    from companyos.leaderboard.card import CardError, read_card
    from companyos.leaderboard.tracks import TRACKS
    from companyos.runner.run_reader import EPISODES

    if not (run / EPISODES).is_file():
        fail(f"{run} is not the folder of a run: {EPISODES} is missing", USAGE_ERROR)
    if out.exists():
        fail(f"--out must be a new folder; {out} exists", USAGE_ERROR)
    with report_errors(), ERR.status("Compressing the run ..."):
        try:
            track = TRACKS[read_card(card).track]
        except CardError as error:
            fail("\n".join(error.faults), USAGE_ERROR)
        pack(run, card, out, with_evidence=with_evidence)
    size = (out / ARCHIVE).stat().st_size
    OUT.print(f"{sanitize(str(out))}: track {track.name}, {size / 1e6:.1f} MB", soft_wrap=True)
    OUT.print(f"[dim]check it with[/] companyos submit --check {sanitize(str(out))}", soft_wrap=True)


def _check_all(folders: Sequence[Path], public_keys: Sequence[str], parallel: int) -> None:
    from companyos.leaderboard.card import CARD

    refused = 0
    for folder in folders:
        if not (folder / CARD).is_file():
            fail(
                f"{folder} is not the folder of a submission: {CARD} is missing; `companyos submit RUN` creates it",
                USAGE_ERROR,
            )
    with report_errors(), connect_or_start(None, None) as server:
        for folder in folders:
            with TemporaryDirectory(prefix="companyos-submission-") as scratch:
                faults = _check(server, folder, Path(scratch), public_keys, parallel)
            if faults:
                refused += 1
                _print_refused(folder, faults)
    if refused:
        fail(f"{refused} of {pluralize(len(folders), 'submission')} refused")


def _print_refused(folder: Path, faults: Sequence[str]) -> None:
    OUT.print(f"[red]refused[/] {sanitize(str(folder))}: {pluralize(len(faults), 'fault')}", soft_wrap=True)
    for fault in faults[:_FAULTS_SHOWN]:
        OUT.print(f"  {sanitize(fault)}", soft_wrap=True)
    if len(faults) > _FAULTS_SHOWN:
        OUT.print(f"  and {len(faults) - _FAULTS_SHOWN} more")


def _check(server: Server, folder: Path, scratch: Path, public_keys: Sequence[str], parallel: int) -> list[str]:
    """Return the faults of a submission; print what was checked if there is none."""
    from companyos.leaderboard.archive import ARCHIVE, ArchiveError, unpack
    from companyos.leaderboard.card import CARD, CardError, read_card
    from companyos.leaderboard.checks import check_evidence, check_run
    from companyos.leaderboard.tracks import SPLIT, TRACKS
    from companyos.rescorers import load_rescorer
    from companyos.runner.run_reader import EVIDENCE, read_audit_lines

    run = scratch / "run"
    run.mkdir()
    try:
        card = read_card(folder / CARD)
        with ERR.status("Unpacking the run ..."):
            unpack(folder / ARCHIVE, run)
    except CardError as error:
        return [*error.faults]
    except ArchiveError as error:
        return [str(error)]
    track, lines = TRACKS[card.track], [*read_audit_lines(run)]
    tasks = select_tasks(server, SPLIT, (track.scenario,) if track.scenario else (), track.levels, track.tasks)
    if faults := [*check_run(run, card, tasks, lines)]:
        return faults
    has_evidence = (run / EVIDENCE).is_dir()
    if public_keys and not has_evidence:
        return [f"{EVIDENCE}: missing; --public-key requires signed evidence"]
    with ERR.status("Judging the evidence again ..."):
        faults = [*check_evidence(run, load_rescorer(), public_keys)] if has_evidence else []
    if not faults:
        faults = [*_replay(server, run, lines, scratch / "replay", parallel)]
    if not faults:
        _print_accepted(folder, card, tasks[0].version, len(lines), has_evidence=has_evidence)
    return faults


def _replay(server: Server, run: Path, lines: Sequence[RecordLine], fresh: Path, parallel: int) -> Iterator[str]:
    """Play the recorded calls again; yield what differs."""
    from companyos.leaderboard.replay import Replay

    replay = Replay(run, lines)
    played, stop = play_with_progress(
        server, replay.plans, parallel=parallel, out=fresh, make_policy=replay.make_policy
    )
    if stop is not None:
        stop.end_command()
    for episode in played:
        yield from replay.faults(episode, fresh)


def _print_accepted(folder: Path, card: Card, task_set: str, episodes: int, *, has_evidence: bool) -> None:
    judged = "judged again from signed evidence and " if has_evidence else ""
    OUT.print(
        f"[green]accepted[/] {sanitize(str(folder))}: {sanitize(card.agent)}, track {card.track}, task set {task_set}; "
        f"{pluralize(episodes, 'episode')} {judged}replayed, all equal",
        soft_wrap=True,
    )
