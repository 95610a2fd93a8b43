"""An episode the way people read it."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from companyos_gateway.episode.episode import Episode

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BOLD, _GREEN, _RED, _DIM, _PLAIN = "\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"


class RenderedStep(BaseModel):
    """One step in a few words."""

    step: int
    now: datetime
    tool: str
    outcome: str
    reward: float


class RenderedEpisode(BaseModel):
    """An episode in a few words; nothing in it is hidden from the agent."""

    episode_id: str
    company: str
    brief: str
    now: datetime
    steps_left: int
    done: bool
    outcome: str | None
    total: float
    steps: list[RenderedStep]


def rendered(episode: Episode) -> RenderedEpisode:
    """Return the episode as it stands."""
    return RenderedEpisode(
        episode_id=episode.id,
        company=episode.task.instance.company_name,
        brief=episode.task.instance.brief,
        now=episode.now,
        steps_left=episode.steps_left,
        done=episode.done,
        outcome=episode.outcome,
        total=episode.progress.ledger.return_,
        steps=[
            RenderedStep(step=line.step, now=line.now, tool=line.tool, outcome=line.outcome, reward=line.reward)
            for line in episode.progress.trail
        ],
    )


def rendered_text(episode: RenderedEpisode, *, colour: bool) -> str:
    """Return the episode as text for a terminal."""
    bold, green, red, dim, plain = (_BOLD, _GREEN, _RED, _DIM, _PLAIN) if colour else ("",) * 5
    lines = [f"{bold}{episode.company}{plain}  {dim}{episode.episode_id}{plain}", _printable(episode.brief), ""]
    for step in episode.steps:
        tint = green if step.reward > 0 else red if step.reward < -1 else ""
        outcome = _printable(step.outcome)
        lines.append(
            f"{step.step:>4}  {step.now:%a %Y-%m-%d %H:%M}  {_printable(step.tool):<36} {outcome:<22} "
            f"{tint}{step.reward:+.2f}{plain}"
        )
    ended = f"ended as {episode.outcome}" if episode.done else f"{episode.steps_left} steps left"
    lines.append(f"{bold}{episode.now:%a %Y-%m-%d %H:%M}  return {episode.total:+.2f}, {ended}{plain}")
    return "\n".join(lines) + "\n"


def _printable(text: str) -> str:
    """Return the text without control characters, which a terminal would obey."""
    return "".join(sign if sign.isprintable() or sign == "\n" else _REPLACEMENT for sign in text)
