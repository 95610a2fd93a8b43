"""An episode as text for a terminal."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator

from companyos_gateway.server.rendering.episode import RenderedCall, RenderedEpisode, RenderedStep

WIDTH = 100
MOST_ANSWER_LINES = 16

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BOLD, _DIM, _GREEN, _RED, _YELLOW, _CYAN = "1", "2", "32", "31", "33", "36"
_FINE = frozenset({"carried_out"})


def terminal(episode: RenderedEpisode, *, colour: bool) -> str:
    """Return the episode as text, at most WIDTH signs a line where nothing in it is longer."""
    ink = _Ink(on=colour)
    lines = [f"{ink(episode.company, _BOLD, _CYAN)}  {ink(_task(episode), _DIM)}", ink("─" * WIDTH, _DIM)]
    for paragraph in _printable(episode.brief).splitlines():
        lines += textwrap.wrap(paragraph, WIDTH, break_on_hyphens=False) or [""]
    lines.append("")
    lines += [_step_line(step, ink) for step in episode.steps]
    if episode.last is not None:
        lines += ["", *_last_lines(episode.last, ink)]
    lines += [ink("─" * WIDTH, _DIM), _standing(episode, ink)]
    return "\n".join(lines) + "\n"


class _Ink:
    """Colours, where they are wanted."""

    def __init__(self, *, on: bool) -> None:
        self._on = on

    def __call__(self, text: str, *tints: str) -> str:
        text = _printable(text)
        return f"\x1b[{';'.join(tints)}m{text}\x1b[0m" if self._on and tints else text


def _task(episode: RenderedEpisode) -> str:
    drawn = f"{episode.scenario}, seed {episode.seed}, chaos {episode.chaos}, " if episode.scenario else ""
    return f"{drawn}as {episode.acting_as}, {episode.episode_id}"


def _step_line(step: RenderedStep, ink: _Ink) -> str:
    tint = () if step.outcome in _FINE else (_YELLOW,)
    told = f"{step.step:>4}  {ink(f'{step.now:%a %Y-%m-%d %H:%M}', _DIM)}  {_printable(step.tool):<36} "
    return told + ink(f"{step.outcome:<24}", *tint) + _reward(step.reward, ink)


def _reward(reward: float | None, ink: _Ink) -> str:
    if reward is None:
        return ""
    return " " + ink(f"{reward:+7.2f}", *((_GREEN,) if reward > 0 else (_RED,) if reward < -1 else ()))


def _last_lines(call: RenderedCall, ink: _Ink) -> Iterator[str]:
    arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    yield ink("last  ", _DIM) + ink(call.tool, _BOLD) + _cut(f"({_printable(arguments)})")
    if call.error is not None:
        yield ink(call.error, _RED)
        return
    lines = json.dumps(call.result, ensure_ascii=False, indent=2).splitlines()
    for line in lines[:MOST_ANSWER_LINES]:
        yield _cut(_printable(line))
    if len(lines) > MOST_ANSWER_LINES:
        yield ink(f"... {len(lines) - MOST_ANSWER_LINES} more lines", _DIM)


def _standing(episode: RenderedEpisode, ink: _Ink) -> str:
    told = [f"{episode.now:%a %Y-%m-%d %H:%M}"]
    if episode.total is not None:
        told.append(f"return {episode.total:+.2f}")
    if not episode.done:
        return ink(", ".join([*told, f"{episode.steps_left} steps left"]), _BOLD)
    ended = "ended" if episode.outcome is None else f"ended as {episode.outcome}"
    tint = {None: (), "success": (_GREEN,)}.get(episode.outcome, (_RED,))
    return ink(", ".join([*told, ended]), _BOLD, *tint)


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."


def _printable(text: str) -> str:
    """Return the text without control characters, which a terminal would obey."""
    return "".join(sign if sign.isprintable() or sign == "\n" else _REPLACEMENT for sign in text)
