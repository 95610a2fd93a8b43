"""Renders episodes for people: as JSON, text and HTML."""

from companyos_gateway.viewer.rendering.html_page import (
    episode_css,
    render_html,
    render_last_call,
    render_steps_table,
    render_task_card,
)
from companyos_gateway.viewer.rendering.summary import Format, RenderedEpisode, describe_episode
from companyos_gateway.viewer.rendering.terminal import render_terminal

__all__ = [
    "Format",
    "RenderedEpisode",
    "describe_episode",
    "episode_css",
    "render_html",
    "render_last_call",
    "render_steps_table",
    "render_task_card",
    "render_terminal",
]
