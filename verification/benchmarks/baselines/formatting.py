"""Number formatting for the baselines page."""

from __future__ import annotations

from collections.abc import Sequence

from verification.benchmarks.baselines.results import Share

NO_BREAK = "\N{NO-BREAK SPACE}"


def line(cells: Sequence[str]) -> str:
    """Return a Markdown table row."""
    return f"| {' | '.join(cells)} |"


def percent(share: float) -> str:
    """Return a share in percent with one decimal."""
    return _whole(f"{share:.1%}".replace("%", " %"))


def percent_with_interval(share: Share) -> str:
    """Return a share with its interval."""
    return f"{percent(share.mean)}<br>{_whole(f'({100 * share.low:.1f} to {100 * share.high:.1f})')}"


def signed_with_interval(share: Share) -> str:
    """Return a mean return with its interval."""
    return f"{share.mean:+.2f}<br>{_whole(f'({share.low:+.2f} to {share.high:+.2f})')}"


def _whole(text: str) -> str:
    """Return a text that browsers do not wrap."""
    return text.replace(" ", NO_BREAK)
