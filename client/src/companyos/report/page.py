"""A report as one HTML file, with the episodes that it names as examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from urllib.parse import quote

from companyos.report.figures import Example, Report, Success
from companyos.report.tables import Cell, Table, format_success, tables_of, title_of
from companyos.rescorers import Rescorer
from companyos.viewer import EpisodeDocument, RunDocument, export_page
from companyos.viewer.stored_run import StoredRun

Address = Callable[[Example], str]
"""Function that returns the URL of the step that decided an example."""


def report_page(report: Report, runs: Mapping[str, StoredRun], rescorer: Rescorer | None) -> str:
    """Return the page of a report: its tables, and the viewer with the episodes that they name."""
    cells = [cell for table in tables_of(report) for row in table.rows for cell in row if isinstance(cell, tuple)]
    examples = {_name(one, runs): one for cell in cells for one in cell}
    episodes = [_episode(name, runs[one.run], one.episode, rescorer) for name, one in examples.items()]
    faults = [*report.faults, *(fault for one in episodes for fault in one.faults)]
    document = RunDocument(
        title=f"Episodes of the {title_of(report).lower()}", episodes=[one.facts for one in episodes], faults=faults
    )
    tables = report_html(report, lambda one: f"#episode={quote(_name(one, runs), safe='')}&step={one.step}")
    html = f'<section id="report"><h1>{escape(title_of(report))}</h1>\n{tables}</section>\n'
    return export_page(document, episodes, report=html)


def _name(example: Example, runs: Mapping[str, StoredRun]) -> str:
    """Return the name of an example in the page, which is unique among the runs."""
    return example.episode if len(runs) == 1 else f"{example.run}/{example.episode}"


def _episode(name: str, run: StoredRun, episode: str, rescorer: Rescorer | None) -> EpisodeDocument:
    document = run.episode(episode, rescorer)
    return document.model_copy(update={"facts": document.facts.model_copy(update={"name": name})})


def report_html(report: Report, address: Address) -> str:
    """Return the tables of a report as HTML, which needs no script."""
    return "".join(_table(table, address) for table in tables_of(report))


def _table(table: Table, address: Address) -> str:
    head = "".join(f'<th scope="col"{_align(at, table)}>{escape(name)}</th>' for at, name in enumerate(table.columns))
    rows = "".join(
        f"<tr>{''.join(f'<td{_align(at, table)}>{_cell(cell, address)}</td>' for at, cell in enumerate(row))}</tr>\n"
        for row in table.rows
    )
    title = escape(table.title)
    return (
        f'<h2>{title}</h2>\n<div class="scroll table-responsive" tabindex="0" role="region" aria-label="{title}">\n'
        '<table class="table card-table">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )


def _align(column: int, table: Table) -> str:
    is_text = column < table.words or any(isinstance(row[column], tuple) for row in table.rows)
    return "" if is_text else ' class="figure"'


def _cell(cell: Cell, address: Address) -> str:
    if isinstance(cell, str):
        return escape(cell)
    if isinstance(cell, Success):
        return f"{escape(format_success(cell))} {_bar(cell)}"
    links = (
        f'<li><a href="{escape(address(one))}">{escape(one.episode)}, step {one.step}</a><br>{escape(one.why)}</li>'
        for one in cell
    )
    return f'<ul class="reasons">{"".join(links)}</ul>'


def _bar(success: Success) -> str:
    """Return a bar from 0 to 100 % with a mark for the rate of success and a line for its interval."""
    low, rate, high = (f"{100 * one:.1f}" for one in (success.low, success.rate, success.high))
    return (
        '<svg class="interval" viewBox="0 0 100 10" width="100" height="10" stroke-width="3" aria-hidden="true">'
        '<line x1="0" x2="100" y1="5" y2="5" stroke="#c9d0da"/>'
        f'<line x1="{low}" x2="{high}" y1="5" y2="5" stroke="#1d4ed8"/>'
        f'<circle cx="{rate}" cy="5" r="3.5" fill="#1d4ed8"/>'
        "</svg>"
    )
