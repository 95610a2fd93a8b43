"""`companyos view`: stored runs to look at, in a browser, in one file, or in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

from companyos.cli.terminal import ERR, MISUSED, OUT, clear_errors, counted, fail, has_screen, shown

if TYPE_CHECKING:
    from companyos.judging import Judge
    from companyos.viewer.document import EpisodeDocument
    from companyos.viewer.stored import StoredRun

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
        fail("--step needs --episode NAME", MISUSED)
    if compare is not None and episode is not None:
        fail("--compare names its episodes itself: --compare or --episode, not both", MISUSED)
    if export is not None and in_terminal:
        fail("--export or --terminal, not both", MISUSED)
    from companyos.light_openenv import import_light_openenv

    import_light_openenv()
    from companyos.viewer.stored import StoredRun

    with clear_errors(), _misuse_told():
        stored = StoredRun(run)
        chosen = [_name(stored, asked) for asked in compare or ((episode,) if episode is not None else ())]
        if in_terminal:
            from companyos.cli.viewing import print_view

            _end(print_view(stored, chosen, step, (installed_judge() if rescore else None)))
        elif export is not None:
            _end(_export(stored, chosen, (installed_judge() if rescore else None), export))
        else:
            _serve(stored, _fragment(chosen, step), rescore=rescore, port=port, browser=browser)


@contextmanager
def _misuse_told() -> Iterator[None]:
    from companyos.viewer.stored import NoRun, UnknownEpisode

    try:
        yield
    except (NoRun, UnknownEpisode) as error:
        fail(str(error.args[0]), MISUSED)


def _name(run: StoredRun, asked: str) -> str:
    """Return the name of the episode that is meant."""
    names = run.names
    found = [asked] if asked in names else [name for name in names if asked in name]
    if len(found) == 1:
        return found[0]
    several = found or names
    shown = ", ".join(several[:_NAMES_SHOWN]) + (", ..." if len(several) > _NAMES_SHOWN else "")
    words = f"{len(found)} episodes have {asked!r} in their name" if found else f"no episode has {asked!r} in its name"
    return fail(f"{words}: {shown}", MISUSED)


def installed_judge() -> Judge | None:
    """Return the judge of the installed server; None where there is none."""
    from companyos import judging

    try:
        return judging.load_judge()
    except judging.NoJudge:
        return None


def _export(run: StoredRun, chosen: list[str], judge: Judge | None, file: Path) -> list[str]:
    """Write the page; return what could not be read."""
    from companyos.viewer import export_page

    document = run.document()
    if chosen:
        document.episodes = [facts for facts in document.episodes if facts.name in chosen]
    count, faults = len(document.episodes), [*run.faults]

    def episodes() -> Iterator[EpisodeDocument]:
        for facts in document.episodes:
            one = run.episode(facts.name) if judge is None else run.judged_episode(facts.name, judge)
            faults.extend(one.faults)
            yield one

    with ERR.status(f"Reading {count} episodes ..."):
        file.write_text(export_page(document, episodes()), encoding="utf-8")
    told = f"{counted(count, 'episode')}, {file.stat().st_size / 1e6:.1f} MB in"
    OUT.print(f"[dim]{told}[/] {shown(str(file))}", soft_wrap=True)
    return faults


def _end(faults: list[str]) -> None:
    """Tell what could not be read, and end as misused where there was such."""
    for fault in faults[:_FAULTS_SHOWN]:
        ERR.print(f"[yellow]not read:[/] {shown(fault)}", soft_wrap=True)
    if len(faults) > _FAULTS_SHOWN:
        ERR.print(f"[yellow]not read:[/] {len(faults) - _FAULTS_SHOWN} more", soft_wrap=True)
    if faults:
        raise typer.Exit(MISUSED)


def _fragment(chosen: list[str], step: int | None) -> str:
    asked = dict(zip(("episode", "with"), chosen, strict=False))
    if step is not None:
        asked["step"] = str(step)
    return f"#{urlencode(asked)}" if asked else ""


def _serve(run: StoredRun, fragment: str, *, rescore: bool, port: int, browser: bool) -> None:
    from companyos import judging
    from companyos.viewer.serving import ViewerServer

    try:
        server = ViewerServer(run, port=port, load_judge=judging.load_judge if rescore else None)
    except OSError as error:
        fail(f"cannot listen on 127.0.0.1:{port}: {error.strerror or error}")
    with server:
        url = server.url + fragment
        OUT.print(f"{shown(run.title)} is shown on [cyan]{shown(url)}[/]", soft_wrap=True)
        OUT.print("[dim]Ctrl-C stops it.[/]")
        for fault in run.faults[:_FAULTS_SHOWN]:
            ERR.print(f"[yellow]not read:[/] {shown(fault)}", soft_wrap=True)
        if browser and has_screen():
            import webbrowser

            webbrowser.open(url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            ERR.print("stopped", style="dim")
