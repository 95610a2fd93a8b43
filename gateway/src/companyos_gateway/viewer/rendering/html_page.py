"""An episode as a self-contained HTML page, without scripts, images and external resources."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from pathlib import Path

from companyos_gateway.viewer.rendering.summary import RenderedCall, RenderedEpisode, RenderedStep

_PAGE_CSS, _EPISODE_CSS = (Path(__file__).with_name(name) for name in ("page.css", "episode.css"))
_EXPECTED_OUTCOMES = frozenset({"carried_out"})


def render_html(episode: RenderedEpisode) -> str:
    """Return the page of an episode."""
    title = f"{escape(episode.company)}: episode {escape(episode.episode_id)}"
    parts = [render_task_card(episode), render_last_call(episode.last), render_steps_table(episode.steps)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_page_css()}{episode_css()}</style>\n</head>\n<body>\n<main>\n{''.join(parts)}</main>\n"
        "</body>\n</html>\n"
    )


@cache
def episode_css() -> str:
    """Return the style sheet of the parts. The embedding page defines the colours."""
    return _EPISODE_CSS.read_text(encoding="utf-8")


def render_task_card(episode: RenderedEpisode) -> str:
    """Return the task, the simulated time and the state of the episode."""
    facts = {
        "Simulated time": f"{episode.now:%a %d %b %Y, %H:%M}",
        "Acting as": episode.acting_as,
        "Steps": f"{len(episode.steps)} taken, {episode.steps_left} left",
        "Return": None if episode.total is None else f"{episode.total:+.2f}",
        "State": _state(episode),
    }
    fact_items = "".join(
        f"<div><dt>{name}</dt><dd{_state_class(name, episode)}>{escape(value)}</dd></div>"
        for name, value in facts.items()
        if value is not None
    )
    task_text = "" if episode.scenario is None else f"{episode.scenario}, seed {episode.seed}, chaos {episode.chaos}"
    return (
        f'<section class="task"><h1>{escape(episode.company)}</h1><p class="drawn">{escape(task_text)} '
        f"<code>{escape(episode.episode_id)}</code></p>"
        f"<blockquote>{escape(episode.brief)}</blockquote><dl>{fact_items}</dl></section>\n"
    )


def render_last_call(call: RenderedCall | None) -> str:
    """Return the last call in full, an empty string if there is none."""
    if call is None:
        return ""
    arguments = escape(json.dumps(call.arguments, ensure_ascii=False, indent=2))
    result = call.error if call.error is not None else json.dumps(call.result, ensure_ascii=False, indent=2)
    kind = ' class="bad"' if call.error is not None else ""
    return (
        f'<section class="last"><h2>Last call: <code>{escape(call.tool)}</code></h2><div class="call">'
        f"<pre>{arguments}</pre><pre{kind}>{escape(result)}</pre></div></section>\n"
    )


def render_steps_table(steps: list[RenderedStep]) -> str:
    """Return the table of steps, the last one first."""
    if not steps:
        return '<section class="steps"><h2>Steps</h2><p class="drawn">No steps yet.</p></section>\n'
    with_rewards = steps[0].reward is not None
    reward = '<th class="number">Reward</th>' if with_rewards else ""
    rows = "".join(_row(step) for step in reversed(steps))
    return (
        '<section class="steps"><h2>Steps</h2><div class="scroll"><table><thead><tr><th class="number">#</th>'
        f"<th>Time</th><th>Tool</th><th>Outcome</th>{reward}</tr></thead><tbody>{rows}</tbody></table></div>"
        "</section>\n"
    )


@cache
def _page_css() -> str:
    return _PAGE_CSS.read_text(encoding="utf-8")


def _row(step: RenderedStep) -> str:
    kind = "" if step.outcome in _EXPECTED_OUTCOMES else ' class="odd"'
    row = (
        f'<tr><td class="number">{step.step}</td><td>{step.now:%a %d %b, %H:%M}</td>'
        f"<td><code>{escape(step.tool)}</code></td><td{kind}>{escape(step.outcome)}</td>"
    )
    if step.reward is not None:
        css_class = " good" if step.reward > 0 else " bad" if step.reward < -1 else ""
        row += f'<td class="number{css_class}">{step.reward:+.2f}</td>'
    return row + "</tr>"


def _state(episode: RenderedEpisode) -> str:
    return "running" if not episode.done else str(episode.outcome or "finished")


def _state_class(name: str, episode: RenderedEpisode) -> str:
    if name != "State" or episode.outcome is None:
        return ""
    return ' class="good"' if episode.outcome == "success" else ' class="bad"'
