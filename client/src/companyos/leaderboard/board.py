"""The rows of the leaderboard, computed from submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from companyos.contract import EpisodeRecord
from companyos.leaderboard.archive import ARCHIVE, unpack
from companyos.leaderboard.card import CARD, Card, read_card
from companyos.leaderboard.tracks import TRACKS
from companyos.report.figures import Scores, scores_of
from companyos.runner.run_reader import EPISODES, read_audit_lines
from companyos.runner.statistics import Summary, has_side_effects, summarise, usage_totals


class SubmissionError(ValueError):
    """Raised for a submission that cannot become a row; `companyos submit --check` lists all of its faults."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Results of a submission over the episodes of all its tasks. `rank` is None for a reference."""

    name: str
    """Path of the submission, relative to the folder of all submissions."""

    card: Card
    task_set: str
    summary: Summary
    scores: Scores
    damaged: int
    """Number of episodes with irreversible damage."""

    side_effects: int
    """Number of episodes with an unrelated change or irreversible damage."""

    tokens: int | None
    cost: float | None
    latency_s: float | None
    rank: int | None = None


@dataclass(frozen=True)
class Standings:
    """The rows of one track and task set, the best first."""

    track: str
    task_set: str
    rows: tuple[Row, ...]


def read_row(folder: Path, name: str) -> Row:
    """Return the row of a submission without checking its evidence. Raises SubmissionError, CardError, ArchiveError."""
    card = read_card(folder / CARD)
    with TemporaryDirectory(prefix="companyos-submission-") as scratch:
        unpack(folder / ARCHIVE, Path(scratch), only=EPISODES)
        lines = [*read_audit_lines(Path(scratch))]
    if (wrong := next((line for line in lines if line.record is None), None)) is not None:
        raise SubmissionError(f"{EPISODES}:{wrong.number}: {wrong.fault}")
    return _row(name, card, [line.record for line in lines if line.record is not None])


def _row(name: str, card: Card, records: Sequence[EpisodeRecord]) -> Row:
    track, scores = TRACKS[card.track], scores_of(records)
    if len(records) != track.tasks * track.trials or scores is None:
        raise SubmissionError(
            f"{EPISODES}: must have {track.tasks * track.trials} lines with verdicts; got {len(records)}"
        )
    if len(versions := sorted({str(record.task_set) for record in records})) > 1:
        raise SubmissionError(f"{EPISODES}: must have one task set; got {', '.join(versions)}")
    usage = usage_totals(records)
    costs = [total.cost for total in usage]
    return Row(
        name=name,
        card=card,
        task_set=versions[0],
        summary=summarise(records),
        scores=scores,
        damaged=sum(bool(record.verdict and record.verdict.damage) for record in records),
        side_effects=sum(bool(has_side_effects(record)) for record in records),
        tokens=sum(total.prompt_tokens + total.completion_tokens for total in usage) if usage else None,
        cost=sum(cost for cost in costs if cost is not None) if usage and None not in costs else None,
        latency_s=sum(total.latency_s for total in usage) if usage else None,
    )


def standings(rows: Sequence[Row]) -> list[Standings]:
    """Return the rows by track, in the order of the tracks, and by task set, in descending order of its name."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.card.track, row.task_set), []).append(row)
    tracks = [*TRACKS]
    keys = sorted(sorted(groups, key=lambda key: key[1], reverse=True), key=lambda key: tracks.index(key[0]))
    return [Standings(*key, rows=_ranked(groups[key])) for key in keys]


def _ranked(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows with their ranks, sorted by success and partial credit.

    The rank of a row is one more than the number of ranked rows whose success interval is entirely above its own. Rows
    that cannot be distinguished from the best share its rank.
    """
    competing = [row.summary for row in rows if not row.card.reference]
    ranked = [
        row
        if row.card.reference
        else replace(row, rank=1 + sum(other.success_low > row.summary.success_high for other in competing))
        for row in rows
    ]
    return tuple(sorted(ranked, key=lambda row: (-row.summary.success_rate, -row.scores.partial_credit, row.name)))


def columns_of(standing: Standings) -> list[Mapping[str, str]]:
    """Return the cells of each row as text, by the name of the column."""
    trials = TRACKS[standing.track].trials
    return [_cells(row, trials) for row in standing.rows]


def _cells(row: Row, trials: int) -> dict[str, str]:
    summary, scores, episodes = row.summary, row.scores, row.summary.episodes
    reliable = summary.pass_hat(trials) if trials > 1 else None
    return {
        "rank": "reference" if row.rank is None else str(row.rank),
        "agent": f"{row.card.agent} {row.card.version}",
        "model": row.card.model or "none (script)",
        "success (95 % interval)": (
            f"{summary.success_rate:.1%} ({100 * summary.success_low:.1f} to {100 * summary.success_high:.1f})"
        ),
        **({} if reliable is None else {f"pass^{trials}": f"{reliable:.1%}"}),
        "partial credit": f"{scores.partial_credit:.1%}",
        "steps": f"{summary.mean_steps:.1f}",
        "irreversible damage": f"{row.damaged / episodes:.1%}",
        "side effects": f"{row.side_effects / episodes:.1%}",
        "injections obeyed": f"{scores.injections - scores.injections_resisted} of {scores.injections}",
        "tokens": "-" if row.tokens is None else f"{row.tokens / episodes:,.0f}",
        "cost": "-" if row.cost is None else f"{row.cost / episodes:,.4f}",
        "seconds waited": "-" if row.latency_s is None else f"{row.latency_s / episodes:,.1f}",
    }
