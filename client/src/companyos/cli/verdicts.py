"""Verdicts in the terminal: what an episode came to, and every check with the facts behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding

from companyos.cli.results import signed
from companyos.cli.terminal import OUT, shown

if TYPE_CHECKING:
    from companyos.contract import CheckVerdict, EpisodeVerdict
    from companyos.viewer.document import EpisodeDocument, Reason

_REASON_INDENT = 6


def print_score(episode: EpisodeDocument) -> None:
    """Print how an episode ended: the return, every check with its reasons, and what was made to go wrong."""
    facts = episode.facts
    steps = f"{facts.steps} step{'s' * (facts.steps != 1)}"
    OUT.print(f"\n{outcome_told(facts.outcome)} after {steps}, return {signed(facts.return_, 2)}\n")
    if facts.trouble is not None:
        OUT.print(f"[yellow]trouble:[/] {shown(facts.trouble)}\n", soft_wrap=True)
    verdict = (episode.judged.verdict if episode.judged is not None else None) or episode.verdict
    if verdict is not None:
        print_checks(verdict.checks, reasons_of(episode))
        OUT.print(f"\n{verdict_told(verdict)}")
    struck = [one for one in episode.injections if set(one.detail) != {"rate"}]
    if struck:
        OUT.print("[dim]What was made to go wrong:[/]")
    for one in struck:
        told = f"{one.kind.replace('_', ' ')} [dim]{shown(one.entity)}, {one.mark}[/]"
        OUT.print(Padding(told, (0, 0, 0, 2), expand=False))


def print_checks(checks: Sequence[CheckVerdict], reasons: Mapping[str, Sequence[Reason]]) -> None:
    """Print checks, those that failed first, each with its reasons."""
    for check in sorted(checks, key=lambda check: check.passed):
        mark = "[green]✔ passed[/]" if check.passed else "[red]✘ failed[/]"
        told = [_told(reason) for reason in reasons.get(check.id, ())]
        aside = f" [dim]{shown(told.pop())}[/]" if len(told) == 1 else ""
        OUT.print(Padding(f"{mark} {shown(check.id)}{aside}", (0, 0, 0, 2), expand=False))
        for line in told:
            OUT.print(Padding(f"[dim]{shown(line)}[/]", (0, 0, 0, _REASON_INDENT), expand=False))


def _told(reason: Reason) -> str:
    return reason.text if reason.step is None else f"step {reason.step}: {reason.text}"


def reasons_of(episode: EpisodeDocument) -> dict[str, Sequence[Reason]]:
    """Return the reasons of each check by its id; without a judge they are what the evidence says in words."""
    from companyos.viewer.document import Reason
    from companyos.viewer.reasons import says_more

    if episode.judged is not None and episode.judged.reasons:
        return {one.id: one.reasons for one in episode.judged.reasons}
    checks = () if episode.verdict is None else episode.verdict.checks
    return {check.id: [Reason(text=check.evidence)] for check in checks if says_more(check)}


def verdict_told(verdict: EpisodeVerdict) -> str:
    """Return a verdict in a line."""
    damage = f", damage: {shown(', '.join(verdict.damage))}" if verdict.damage else ""
    passed = f"{len(verdict.checks) - len(verdict.failed)} of {len(verdict.checks)} checks pass"
    word = "[green]success[/]" if verdict.success else "[red]failure[/]"
    return f"{word}, {passed}, milestones worth {verdict.potential:g}{damage}"


def outcome_told(outcome: str | None) -> str:
    """Return an outcome in its colour."""
    if outcome is None:
        return "[dim]not known[/]"
    return f"[{'green' if outcome == 'success' else 'red'}]{shown(outcome)}[/]"
