"""The training stages at which a tiny model is measured."""

from __future__ import annotations

STAGES = {"untrained": "untrained", "before": "after the warm start", "after": "after GRPO"}
"""Their keys in the figures and their titles."""
