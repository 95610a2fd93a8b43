"""The tables of a report, and the report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from companyos.report.figures import Comparison, Example, Failure, Report, Subject, Success

FAILURES_SHOWN = 10
"""Maximum number of reasons for failures in a table."""

SUBJECT = "run or policy"
"""Name of the column with the labels of the subjects."""

Cell = str | Success | tuple[Example, ...]
"""Content of a cell: text, a success rate with its interval, or example episodes."""


@dataclass(frozen=True)
class Table:
    """A table: a title, the names of the columns, and the rows. The cells of the first `words` columns are text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: int = 1


def tables_of(report: Report) -> list[Table]:
    """Return the tables of a report, without those that would be empty."""
    tables = [
        _total_table(report.subjects),
        *([_pass_table(report.subjects)] if any(one.pass_at for one in report.subjects) else []),
        *_comparison_tables(report.comparisons),
        *(_failure_table(one, is_only=len(report.subjects) == 1) for one in report.subjects if one.failures),
        *_group_tables(report.subjects),
        *_score_tables(report.subjects),
        *_usage_tables(report.subjects),
    ]
    return tables if len(report.subjects) > 1 else [_without_subject(table) for table in tables]


def _without_subject(table: Table) -> Table:
    """Return a table without the column of subjects, unless it is the only column of text."""
    if table.words == 1 or SUBJECT not in table.columns:
        return table
    at = table.columns.index(SUBJECT)
    rows = [[*row[:at], *row[at + 1 :]] for row in table.rows]
    return replace(table, columns=[*table.columns[:at], *table.columns[at + 1 :]], rows=rows, words=table.words - 1)


def _total_table(subjects: Sequence[Subject]) -> Table:
    rows = [
        (
            one.label,
            *_success_cells(one.total),
            f"{one.mean_steps:.1f}",
            str(one.infra_errors),
            str(one.policy_errors),
        )
        for one in subjects
    ]
    more = ("mean steps", "infra errors", "policy errors")
    return Table("Success", (SUBJECT, *_SUCCESS_COLUMNS, *more), rows)


_SUCCESS_COLUMNS = ("success (95 % interval)", "episodes", "mean return", "partial credit")


def _success_cells(one: Success) -> tuple[Cell, ...]:
    return one, str(one.episodes), f"{one.mean_return:+.2f}", _share(one.partial_credit)


def format_success(one: Success) -> str:
    """Return a success rate with its 95 % interval."""
    return f"{one.rate:.1%} ({one.low:.1%} to {one.high:.1%})"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _pass_table(subjects: Sequence[Subject]) -> Table:
    ks = sorted({k for one in subjects for k in one.pass_at})
    columns = [f"{name}{k}" for name in ("pass@", "pass^") for k in ks]
    rows = [
        (one.label, str(one.trials), *(_share(shares.get(k)) for shares in (one.pass_at, one.pass_hat) for k in ks))
        for one in subjects
    ]
    return Table("Trials", (SUBJECT, "trials", *columns), rows)


def _comparison_tables(comparisons: Sequence[Comparison]) -> Iterator[Table]:
    rows = [
        (
            one.second,
            one.first,
            str(one.tasks),
            str(one.only_second),
            str(one.only_first),
            f"{100 * one.difference:+.1f}",
            "-" if one.low == one.high else f"{100 * one.low:+.1f} to {100 * one.high:+.1f}",
            f"{one.p_value:.3g}",
            "-" if one.steps_ratio is None else f"{one.steps_ratio:.2f} x",
        )
        for one in comparisons
    ]
    columns = (SUBJECT, "compared with", "tasks of both", "better", "worse", "points of success")
    if rows:
        yield Table(
            "Paired comparison", (*columns, "95 % interval", "p (sign test)", "steps if both solved"), rows, words=2
        )


def _failure_table(subject: Subject, *, is_only: bool) -> Table:
    failed = sum(one.episodes for one in subject.failures)
    rows = [
        (one.reason, _scenarios(one), str(one.episodes), f"{one.episodes / failed:.0%}", one.examples)
        for one in subject.failures[:FAILURES_SHOWN]
    ]
    columns = ("primary failure", "scenarios", "episodes", "share", "for example")
    title = "Why episodes failed" if is_only else f"Why episodes of {subject.label} failed"
    return Table(title, columns, rows, words=2)


def _scenarios(failure: Failure) -> str:
    shown = [f"{name} ({count})" for name, count in [*failure.scenarios.items()][:3]]
    more = len(failure.scenarios) - len(shown)
    return ", ".join([*shown, *([f"{more} more"] if more else [])])


def _group_tables(subjects: Sequence[Subject]) -> Iterator[Table]:
    for grouping in subjects[0].groups:
        names = sorted({group.group for subject in subjects for group in subject.groups[grouping]})
        rows = [
            (group.group, subject.label, *_success_cells(group))
            for name in names
            for subject in subjects
            for group in subject.groups[grouping]
            if group.group == name
        ]
        if len(names) > 1:
            yield Table(f"By {grouping}", (grouping, SUBJECT, *_SUCCESS_COLUMNS), rows, words=2)


def _score_tables(subjects: Sequence[Subject]) -> Iterator[Table]:
    rows = [
        (
            one.label,
            f"{scores.faults_recovered} of {scores.affected_calls}",
            f"{scores.injections_resisted} of {scores.injections}",
            str(scores.duplicates),
            str(scores.collateral_changes),
            str(scores.refused_approvers),
        )
        for one in subjects
        if (scores := one.scores) is not None
    ]
    columns = ("recovered faults", "injections resisted", "duplicates", "collateral changes", "refused approvers")
    if rows:
        yield Table("Scorecard", (SUBJECT, *columns), rows)


def _usage_tables(subjects: Sequence[Subject]) -> Iterator[Table]:
    rows = [
        (
            subject.label,
            one.model,
            str(one.episodes),
            f"{one.requests:,}",
            f"{one.prompt_tokens:,}",
            f"{one.completion_tokens:,}",
            f"{one.latency_s:,.0f}",
            "-" if one.cost is None else f"{one.cost:,.2f}",
            "-" if one.cost is None else f"{one.cost / one.episodes:,.4f}",
        )
        for subject in subjects
        for one in subject.usage
    ]
    columns = (SUBJECT, "model", "episodes", "requests", "tokens in", "tokens out", "seconds waited")
    if rows:
        yield Table("Usage of models", (*columns, "cost", "cost per episode"), rows, words=2)


def view_command(example: Example, folders: Mapping[str, str]) -> str:
    """Return the command that shows the step that decided an example, given the folders of the runs."""
    return f"companyos view {folders[example.run]} --terminal --episode {example.episode} --step {example.step}"


def markdown_of(report: Report, folders: Mapping[str, str]) -> str:
    """Return a report as Markdown. Each example includes the command that shows it."""
    parts = [f"# {title_of(report)}", *(f"Not read: {escape_markdown(one)}" for one in report.faults)]
    for table in tables_of(report):
        parts += [f"## {escape_markdown(table.title)}", _markdown_table(table)]
        if examples := examples_of(table):
            parts.append(
                "\n".join(f"- {escape_markdown(one.why)}  \n  `{view_command(one, folders)}`" for one in examples)
            )
    return "\n\n".join(parts) + "\n"


def title_of(report: Report) -> str:
    """Return the title of a report."""
    return f"Report on {', '.join(dict.fromkeys(one.run for one in report.subjects))}"


def _markdown_table(table: Table) -> str:
    kept = plain_columns(table)
    rule = ["---" if at < table.words else "---:" for at in kept]
    rows = [[escape_markdown(format_cell(row[at])) for at in kept] for row in table.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ([table.columns[at] for at in kept], rule, *rows))


def plain_columns(table: Table) -> list[int]:
    """Return the positions of the columns without examples, which are listed below a table."""
    return [at for at in range(len(table.columns)) if not any(isinstance(row[at], tuple) for row in table.rows)]


def examples_of(table: Table) -> list[Example]:
    """Return the first example of each row."""
    return [cell[0] for row in table.rows for cell in row if isinstance(cell, tuple)]


def format_cell(cell: Cell) -> str:
    """Return the content of a cell as text."""
    if isinstance(cell, Success):
        return format_success(cell)
    return cell if isinstance(cell, str) else ", ".join(one.episode for one in cell)


def escape_markdown(text: str) -> str:
    """Return text on one line, escaped for Markdown."""
    escaped = "".join(f"\\{char}" if char in "\\`*[<|" else char for char in text)
    return " ".join(escaped.split())
