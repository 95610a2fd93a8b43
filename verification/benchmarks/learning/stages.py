"""The stages of a tiny model, in which it is measured."""

from __future__ import annotations

STAGES = {"untrained": "untrained", "before": "after the warm start", "after": "after GRPO"}
"""Their names in the figures, and what they are called."""
