"""`companyos view`: shows stored runs in a browser, in one HTML file, or in the terminal."""

from __future__ import annotations

import re
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
        Path, typer.Argument(metavar="RUN", help="Run folder written by `eval --out`, or a trajectory file.")
    ],
    episode: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show this episode, by its name or a unique part of it.")
    ] = None,
    step: Annotated[int | None, typer.Option(min=1, help="Show this step of the episode.")] = None,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Compare two episodes side by side.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write one self-contained HTML file and exit."),
    ] = None,
    in_terminal: Annotated[bool, typer.Option("--terminal", help="Print to the terminal and exit.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="With --terminal and --step, print long requests and responses to the end.")
    ] = False,
    rescore: Annotated[
        bool, typer.Option("--rescore/--no-rescore", help="Rescore the stored evidence and show both verdicts.")
    ] = True,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the viewer; 0 selects a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the viewer in a browser.")] = True,
) -> None:
    """View a stored run: every step, its database changes, and the reasons for the verdict.

    Serves the viewer on 127.0.0.1 until Ctrl-C; keys j and k move through the
    steps. If the server is installed, the evidence is rescored after every
    step, which shows the step that changed each check.

    Examples:

      [cyan]companyos eval --policy oracle --out runs/a[/]  create a run
      [cyan]companyos view runs/a[/]                        in the browser
      [cyan]companyos view runs/a --export run.html[/]      one file to share
      [cyan]companyos view runs/a --terminal[/]             list its episodes
      [cyan]companyos view runs/a --terminal --episode 3-c1 --step 7[/]
      [cyan]companyos view runs/a --compare 3-c1 4-c1[/]    two side by side

    The exit status is 2 if a file of the run could not be read; the rest is
    shown.
    """
    if step is not None and episode is None:
        fail("--step needs --episode NAME", USAGE_ERROR)
    if compare is not None and episode is not None:
        fail("--compare and --episode cannot be combined", USAGE_ERROR)
    if export is not None and in_terminal:
        fail("--export and --terminal cannot be combined", USAGE_ERROR)
    from companyos.openenv_preload import preload_openenv

    preload_openenv()
    from companyos.viewer.stored_run import StoredRun

    with report_errors(), usage_errors():
        stored = StoredRun(run)
        selected = [
            _resolve_name(stored, requested) for requested in compare or ((episode,) if episode is not None else ())
        ]
        if in_terminal:
            from companyos.cli.episode_report import print_run

            report_faults(print_run(stored, selected, step, installed_rescorer() if rescore else None, full=full))
        elif export is not None:
            report_faults(_export(stored, selected, (installed_rescorer() if rescore else None), export))
        else:
            _serve(stored, _fragment(selected, step), rescore=rescore, port=port, browser=browser)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn a path or an episode that does not exist into a usage error."""
    from companyos.viewer.stored_run import NotARunError, UnknownEpisodeError

    try:
        yield
    except (NotARunError, UnknownEpisodeError) as error:
        fail(str(error.args[0]), USAGE_ERROR)


def _resolve_name(run: StoredRun, requested: str) -> str:
    """Return the episode name that equals the requested text, contains it as whole parts, or else contains it."""
    names = run.names
    whole = re.compile(rf"(?<!\w){re.escape(requested)}(?!\w)")
    matches = [requested] if requested in names else [name for name in names if whole.search(name)]
    matches = matches or [name for name in names if requested in name]
    if len(matches) == 1:
        return matches[0]
    candidates = matches or names
    listed = ", ".join(candidates[:_NAMES_SHOWN]) + (", ..." if len(candidates) > _NAMES_SHOWN else "")
    reason = (
        f"{len(matches)} episode names contain {requested!r}" if matches else f"no episode name contains {requested!r}"
    )
    return fail(f"{reason}: {listed}", USAGE_ERROR)


def installed_rescorer() -> Rescorer | None:
    """Return the rescorer of the installed server, or None."""
    from companyos import rescorers

    try:
        return rescorers.load_rescorer()
    except rescorers.RescorerUnavailableError:
        return None


def _export(run: StoredRun, selected: list[str], rescorer: Rescorer | None, file: Path) -> list[str]:
    """Write the HTML file; return the files that could not be read."""
    from companyos.viewer import export_page

    document = run.document()
    if selected:
        document.episodes = [facts for facts in document.episodes if facts.name in selected]
    count, faults = len(document.episodes), [*run.faults]

    def episodes() -> Iterator[EpisodeDocument]:
        for facts in document.episodes:
            shown = run.episode(facts.name, rescorer)
            faults.extend(shown.faults)
            yield shown

    with ERR.status(f"Reading {count} episodes ..."):
        file.write_text(export_page(document, episodes()), encoding="utf-8")
    summary = f"{pluralize(count, 'episode')}, {file.stat().st_size / 1e6:.1f} MB in"
    OUT.print(f"[dim]{summary}[/] {sanitize(str(file))}", soft_wrap=True)
    return faults


def report_faults(faults: list[str]) -> None:
    """Print the files that could not be read; end with a usage error if there are any."""
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
        OUT.print(f"{sanitize(run.title)} is served on [cyan]{sanitize(url)}[/]", soft_wrap=True)
        OUT.print("[dim]Press Ctrl-C to stop.[/]")
        for fault in run.faults[:_FAULTS_SHOWN]:
            ERR.print(f"[yellow]not read:[/] {sanitize(fault)}", soft_wrap=True)
        if browser and has_display():
            import webbrowser

            webbrowser.open(url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            ERR.print("stopped", style="dim")
