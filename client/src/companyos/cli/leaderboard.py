"""`companyos leaderboard`: writes the page of the leaderboard from the submissions in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from companyos.cli.terminal import ERR, OUT, USAGE_ERROR, fail, pluralize, report_errors, sanitize

SUFFIXES = (".html", ".md")


def leaderboard(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="Folder with submissions.")
    ],
    out: Annotated[
        list[Path], typer.Option(dir_okay=False, metavar="PAGE", help="Page to write: .html or .md; repeat for both.")
    ],
) -> None:
    """Write the page of the leaderboard from all submissions below a folder.

    Rows are sorted by success; rows whose 95 % intervals overlap share a rank.
    The page does not check the submissions: run `companyos submit --check`
    before a submission is added.

    Examples:

      [cyan]companyos leaderboard results/leaderboard --out page.html[/]
      [cyan]companyos leaderboard results/leaderboard --out page.md[/]
      [cyan]companyos submit --check results/leaderboard/*/*[/]
      [cyan]companyos leaderboard mine --out a.html --out a.md[/]
    """
    if wrong := next((page for page in out if page.suffix not in SUFFIXES), None):
        fail(f"--out must end in {' or '.join(SUFFIXES)}; got {str(wrong)!r}", USAGE_ERROR)
    from companyos.leaderboard.archive import ArchiveError
    from companyos.leaderboard.board import Row, SubmissionError, read_row, standings
    from companyos.leaderboard.card import CARD, CardError
    from companyos.leaderboard.page import html_page, markdown_page

    cards, rows = sorted(folder.rglob(CARD)), list[Row]()
    if not cards:
        fail(f"{folder} contains no submissions, which have a {CARD}", USAGE_ERROR)
    with report_errors(), ERR.status("Reading the submissions ..."):
        for card in cards:
            try:
                rows.append(read_row(card.parent, card.parent.relative_to(folder).as_posix()))
            except (CardError, ArchiveError, SubmissionError) as error:
                fail(f"{card.parent}/{error}", USAGE_ERROR)
        tables = standings(rows)
        for page in out:
            where = Path(os.path.relpath(folder, page.parent)).as_posix()
            text = html_page(tables) if page.suffix == ".html" else markdown_page(tables, where)
            page.write_text(text, encoding="utf-8")
    written = " and ".join(map(str, out))
    OUT.print(f"[dim]{pluralize(len(rows), 'submission')} in[/] {sanitize(written)}", soft_wrap=True)
