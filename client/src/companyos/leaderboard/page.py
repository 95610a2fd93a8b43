"""The leaderboard as one HTML file, which needs neither scripts nor other files, and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from companyos.leaderboard.board import Row, Standings, columns_of
from companyos.leaderboard.card import CARD
from companyos.leaderboard.tracks import TRACKS
from companyos.report.tables import escape_markdown

TITLE = "CompanyOS leaderboard"
NOTES = (
    "Sorted by success. The rank of a row is one more than the number of rows whose 95 % interval of success lies "
    "above its own, so rows that cannot be told apart share a rank. A reference has no rank. Tokens, cost in US "
    "dollars and seconds waited for the model are means per episode, as reported by the run."
)
_TEXT_COLUMNS = ("rank", "agent", "model")
_SUCCESS = "success (95 % interval)"
_STYLE = Path(__file__).with_name("page.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def html_page(tables: Sequence[Standings]) -> str:
    """Return the leaderboard as one HTML page."""
    sections = "".join(map(_section, tables))
    cards = "".join(_card(row) for table in tables for row in table.rows)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n<title>{TITLE}</title>\n'
        f'<link rel="icon" href="data:,">\n<style>\n{_STYLE.read_text(encoding="utf-8")}</style>\n</head>\n<body>\n'
        f"<main>\n<h1>{TITLE}</h1>\n<p>{NOTES}</p>\n{sections}<h2>Cards</h2>\n{cards}</main>\n</body>\n</html>\n"
    )


def _section(table: Standings) -> str:
    cells = columns_of(table)
    head = "".join(f'<th scope="col"{_align(name)}>{escape(name)}</th>' for name in cells[0])
    rows = "".join(_html_row(row, texts) for row, texts in zip(table.rows, cells, strict=True))
    return (
        f'<h2>{escape(table.track)}</h2>\n<p class="quiet">{escape(_describe(table))}</p>\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )


def _describe(table: Standings) -> str:
    track = TRACKS[table.track]
    return f"{track.tasks} {track.summary}, task set {table.task_set}"


def _align(column: str) -> str:
    return ' class="text"' if column in _TEXT_COLUMNS else ""


def _html_row(row: Row, texts: Mapping[str, str]) -> str:
    cells = "".join(
        f'<td{_align(name)} data-label="{escape(name)}">{_html_cell(row, name, text)}</td>'
        for name, text in texts.items()
    )
    reference = ' class="reference"' if row.rank is None else ""
    return f"<tr{reference}>{cells}</tr>\n"


def _html_cell(row: Row, name: str, text: str) -> str:
    if name == "agent":
        return f'<a href="#{quote(row.name)}">{escape(text)}</a>'
    return f"{escape(text)}{_bar(row) if name == _SUCCESS else ''}"


def _bar(row: Row) -> str:
    """Return a bar from 0 to 100 % with a mark for the rate of success and a line for its interval."""
    one = row.summary
    low, rate, high = (f"{100 * share:.1f}" for share in (one.success_low, one.success_rate, one.success_high))
    return (
        '<svg viewBox="-4 0 108 10" stroke-width="3" aria-hidden="true">'
        '<line class="axis" x1="0" x2="100" y1="5" y2="5"/>'
        f'<line class="range" x1="{low}" x2="{high}" y1="5" y2="5"/>'
        f'<circle class="rate" cx="{rate}" cy="5" r="3.5"/></svg>'
    )


def _card(row: Row) -> str:
    card = row.card
    texts = {
        "track": card.track,
        "organisation": card.organisation,
        "model": f"{card.model}, {card.weights} weights" if card.model else "none (script)",
        "license": card.license,
        "date": card.date.isoformat(),
        **({"contact": card.contact} if card.contact else {}),
        "files": row.name,
    }
    fields = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>\n" for name, text in texts.items())
    if card.link is not None:
        link = escape(str(card.link))
        fields += f'<dt>link</dt><dd><a rel="nofollow noopener" href="{link}">{link}</a></dd>\n'
    return f'<h3 id="{escape(row.name)}">{escape(f"{card.agent} {card.version}")}</h3>\n<dl>\n{fields}</dl>\n'


def markdown_page(tables: Sequence[Standings], folder: str) -> str:
    """Return the leaderboard as Markdown; `folder` is the path of the submissions, relative to the page."""
    parts = [f"# {TITLE}", NOTES]
    for table in tables:
        cells = columns_of(table)
        rule = ["---" if name in _TEXT_COLUMNS else "---:" for name in cells[0]]
        rows = [
            [_markdown_cell(row, name, text, folder) for name, text in texts.items()]
            for row, texts in zip(table.rows, cells, strict=True)
        ]
        lines = [f"| {' | '.join(line)} |" for line in ([*cells[0]], rule, *rows)]
        parts += [f"## {table.track}", f"{_describe(table)}.", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _markdown_cell(row: Row, name: str, text: str, folder: str) -> str:
    if name == "agent":
        return f"[{escape_markdown(text)}]({quote(f'{folder}/{row.name}/{CARD}')})"
    return escape_markdown(text)
