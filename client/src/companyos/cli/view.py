"""`companyos view`: stored runs to look at, in a browser, in one file, or in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

from companyos.cli.terminal import ERR, OUT, USAGE_ERROR, fail, has_display, pluralize, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.rescorers import Rescorer
    from companyos.viewer.document import EpisodeDocument
    from companyos.viewer.stored_run import StoredRun

_NAMES_SHOWN = 6
_FAULTS_SHOWN = 20


def view(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A folder that `eval --out` has written, or a trajectory.")
    ],
    episode: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show this one: its name, or a part that no other has.")
    ] = None,
    step: Annotated[int | None, typer.Option(min=1, help="Show this step of it.")] = None,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Show two episodes side by side.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write one HTML file that needs no server and no network, and stop."),
    ] = None,
    in_terminal: Annotated[bool, typer.Option("--terminal", help="Print to the terminal, and stop.")] = False,
    rescore: Annotated[
        bool, typer.Option("--rescore/--no-rescore", help="Judge the stored evidence again beside the old verdict.")
    ] = True,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Look at a stored run: every step, what it changed in the databases, and why the verdict is as it is.

    Serves the viewer on 127.0.0.1 until Ctrl-C; keys j and k move through the steps.
    With the server installed the evidence is judged again after every step, which
    shows what step turned which check.

    Examples:

      [cyan]companyos eval --policy oracle --out runs/a[/]  a run to look at
      [cyan]companyos view runs/a[/]                        in the browser
      [cyan]companyos view runs/a --export run.html[/]      one file to send around
      [cyan]companyos view runs/a --terminal[/]             its episodes as a table
      [cyan]companyos view runs/a --terminal --episode 3-c1 --step 7[/]
      [cyan]companyos view runs/a --compare 3-c1 4-c1[/]    two side by side

    The status is 2 where a file of the run could not be read; the rest is shown.
    """
    if step is not None and episode is None:
        fail("--step needs --episode NAME", USAGE_ERROR)
    if compare is not None and episode is not None:
        fail("--compare names its episodes itself: --compare or --episode, not both", USAGE_ERROR)
    if export is not None and in_terminal:
        fail("--export or --terminal, not both", USAGE_ERROR)
    from companyos.openenv_preload import preload_openenv

    preload_openenv()
    from companyos.viewer.stored_run import StoredRun

    with report_errors(), _usage_errors():
        stored = StoredRun(run)
        selected = [
            _resolve_name(stored, requested) for requested in compare or ((episode,) if episode is not None else ())
        ]
        if in_terminal:
            from companyos.cli.episode_report import print_run

            _report_faults(print_run(stored, selected, step, (installed_rescorer() if rescore else None)))
        elif export is not None:
            _report_faults(_export(stored, selected, (installed_rescorer() if rescore else None), export))
        else:
            _serve(stored, _fragment(selected, step), rescore=rescore, port=port, browser=browser)


@contextmanager
def _usage_errors() -> Iterator[None]:
    from companyos.viewer.stored_run import NotARunError, UnknownEpisodeError

    try:
        yield
    except (NotARunError, UnknownEpisodeError) as error:
        fail(str(error.args[0]), USAGE_ERROR)


def _resolve_name(run: StoredRun, requested: str) -> str:
    """Return the name of the episode that is meant."""
    names = run.names
    matches = [requested] if requested in names else [name for name in names if requested in name]
    if len(matches) == 1:
        return matches[0]
    candidates = matches or names
    sanitize = ", ".join(candidates[:_NAMES_SHOWN]) + (", ..." if len(candidates) > _NAMES_SHOWN else "")
    reason = (
        f"{len(matches)} episodes have {requested!r} in their name"
        if matches
        else f"no episode has {requested!r} in its name"
    )
    return fail(f"{reason}: {sanitize}", USAGE_ERROR)


def installed_rescorer() -> Rescorer | None:
    """Return the judge of the installed server; None where there is none."""
    from companyos import rescorers

    try:
        return rescorers.load_rescorer()
    except rescorers.RescorerUnavailableError:
        return None


def _export(run: StoredRun, selected: list[str], rescorer: Rescorer | None, file: Path) -> list[str]:
    """Write the page; return what could not be read."""
    from companyos.viewer import export_page

    document = run.document()
    if selected:
        document.episodes = [facts for facts in document.episodes if facts.name in selected]
    count, faults = len(document.episodes), [*run.faults]

    def episodes() -> Iterator[EpisodeDocument]:
        for facts in document.episodes:
            one = run.episode(facts.name) if rescorer is None else run.judged_episode(facts.name, rescorer)
            faults.extend(one.faults)
            yield one

    with ERR.status(f"Reading {count} episodes ..."):
        file.write_text(export_page(document, episodes()), encoding="utf-8")
    summary = f"{pluralize(count, 'episode')}, {file.stat().st_size / 1e6:.1f} MB in"
    OUT.print(f"[dim]{summary}[/] {sanitize(str(file))}", soft_wrap=True)
    return faults


def _report_faults(faults: list[str]) -> None:
    """Tell what could not be read, and end as misused where there was such."""
    for fault in faults[:_FAULTS_SHOWN]:
        ERR.print(f"[yellow]not read:[/] {sanitize(fault)}", soft_wrap=True)
    if len(faults) > _FAULTS_SHOWN:
        ERR.print(f"[yellow]not read:[/] {len(faults) - _FAULTS_SHOWN} more", soft_wrap=True)
    if faults:
        raise typer.Exit(USAGE_ERROR)


def _fragment(selected: list[str], step: int | None) -> str:
    requested = dict(zip(("episode", "with"), selected, strict=False))
    if step is not None:
        requested["step"] = str(step)
    return f"#{urlencode(requested)}" if requested else ""


def _serve(run: StoredRun, fragment: str, *, rescore: bool, port: int, browser: bool) -> None:
    from companyos import rescorers
    from companyos.viewer.server import ViewerServer

    try:
        server = ViewerServer(run, port=port, load_rescorer=rescorers.load_rescorer if rescore else None)
    except OSError as error:
        fail(f"cannot listen on 127.0.0.1:{port}: {error.strerror or error}")
    with server:
        url = server.url + fragment
        OUT.print(f"{sanitize(run.title)} is shown on [cyan]{sanitize(url)}[/]", soft_wrap=True)
        OUT.print("[dim]Ctrl-C stops it.[/]")
        for fault in run.faults[:_FAULTS_SHOWN]:
            ERR.print(f"[yellow]not read:[/] {sanitize(fault)}", soft_wrap=True)
        if browser and has_display():
            import webbrowser

            webbrowser.open(url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            ERR.print("stopped", style="dim")
