"""An episode as text for a terminal."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator

from companyos_gateway.viewer.rendering.summary import RenderedCall, RenderedEpisode, RenderedStep

WIDTH = 100
MAX_RESULT_LINES = 16

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BOLD, _DIM, _GREEN, _RED, _YELLOW, _CYAN = "1", "2", "32", "31", "33", "36"
_EXPECTED_OUTCOMES = frozenset({"carried_out"})


def render_terminal(episode: RenderedEpisode, *, colour: bool) -> str:
    """Return the episode as text, wrapped at WIDTH characters."""
    ansi = _Ansi(on=colour)
    lines = [f"{ansi(episode.company, _BOLD, _CYAN)}  {ansi(_task(episode), _DIM)}", ansi("─" * WIDTH, _DIM)]
    for paragraph in _printable(episode.brief).splitlines():
        lines += textwrap.wrap(paragraph, WIDTH, break_on_hyphens=False) or [""]
    lines.append("")
    lines += [_step_line(step, ansi) for step in episode.steps]
    if episode.last is not None:
        lines += ["", *_last_lines(episode.last, ansi)]
    lines += [ansi("─" * WIDTH, _DIM), _status_line(episode, ansi)]
    return "\n".join(lines) + "\n"


class _Ansi:
    """Formatter that adds ANSI colours if enabled."""

    def __init__(self, *, on: bool) -> None:
        self._on = on

    def __call__(self, text: str, *codes: str) -> str:
        text = _printable(text)
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self._on and codes else text


def _task(episode: RenderedEpisode) -> str:
    task = f"{episode.scenario}, seed {episode.seed}, chaos {episode.chaos}, " if episode.scenario else ""
    return f"{task}as {episode.acting_as}, {episode.episode_id}"


def _step_line(step: RenderedStep, ansi: _Ansi) -> str:
    codes = () if step.outcome in _EXPECTED_OUTCOMES else (_YELLOW,)
    prefix = f"{step.step:>4}  {ansi(f'{step.now:%a %Y-%m-%d %H:%M}', _DIM)}  {_printable(step.tool):<36} "
    return prefix + ansi(f"{step.outcome:<24}", *codes) + _reward(step.reward, ansi)


def _reward(reward: float | None, ansi: _Ansi) -> str:
    if reward is None:
        return ""
    return " " + ansi(f"{reward:+7.2f}", *((_GREEN,) if reward > 0 else (_RED,) if reward < -1 else ()))


def _last_lines(call: RenderedCall, ansi: _Ansi) -> Iterator[str]:
    arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    yield ansi("last  ", _DIM) + ansi(call.tool, _BOLD) + _truncate(f"({_printable(arguments)})")
    if call.error is not None:
        yield ansi(call.error, _RED)
        return
    lines = json.dumps(call.result, ensure_ascii=False, indent=2).splitlines()
    for line in lines[:MAX_RESULT_LINES]:
        yield _truncate(_printable(line))
    if len(lines) > MAX_RESULT_LINES:
        yield ansi(f"... {len(lines) - MAX_RESULT_LINES} more lines", _DIM)


def _status_line(episode: RenderedEpisode, ansi: _Ansi) -> str:
    parts = [f"{episode.now:%a %Y-%m-%d %H:%M}"]
    if episode.total is not None:
        parts.append(f"return {episode.total:+.2f}")
    if not episode.done:
        return ansi(", ".join([*parts, f"{episode.steps_left} steps left"]), _BOLD)
    ended = "ended" if episode.outcome is None else f"ended as {episode.outcome}"
    codes = {None: (), "success": (_GREEN,)}.get(episode.outcome, (_RED,))
    return ansi(", ".join([*parts, ended]), _BOLD, *codes)


def _truncate(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."


def _printable(text: str) -> str:
    """Return the text without control characters, which a terminal would execute."""
    return "".join(char if char.isprintable() or char == "\n" else _REPLACEMENT for char in text)
