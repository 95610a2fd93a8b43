"""An episode the way people read it: as data, as text for a terminal, as a page."""

from companyos_gateway.server.rendering.episode import Format, RenderedEpisode, rendered
from companyos_gateway.server.rendering.page import last_call, page, steps_table, style, task_card
from companyos_gateway.server.rendering.terminal import terminal

__all__ = [
    "Format",
    "RenderedEpisode",
    "last_call",
    "page",
    "rendered",
    "steps_table",
    "style",
    "task_card",
    "terminal",
]
