"""The brief: the task in words."""

from __future__ import annotations

from companyos_gateway.scenarios.vendor_onboarding.texts import texts
from companyos_shared.streams import Stream


def draw_brief(stream: Stream, key: str) -> str:
    """Draw the words for the task of a ticket; all of them name the ticket."""
    words: str = stream.choice(texts()["briefs"])
    return words.format(key=key)
