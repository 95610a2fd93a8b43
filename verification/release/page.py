"""The results page: result and duration of each step per Python, and the size of each environment."""

from __future__ import annotations

from collections.abc import Sequence

from verification.release.trial import Size, Step


def results_page(
    heading: str, versions: str, steps: Sequence[Step], sizes: Sequence[Size], missing: Sequence[str]
) -> str:
    """Return the page as Markdown. `heading` states time and place, `versions` the checked release."""
    pythons = list(dict.fromkeys(step.python for step in steps))
    parts = [
        "# Release check",
        f"`make release-check`, {heading}: {versions}.",
        "Each environment is outside the repository and has packages from wheels alone.",
        "## Steps",
        _table(("step", "result", *(f"Python {python}, s" for python in pythons)), _step_rows(steps, pythons)),
        "## Sizes",
        "Without bytecode. `client` is `pip install companyos`, `small client` is `requirements-client.txt`.",
        _table(("environment", "Python", "packages", "MB"), [_size_row(size) for size in sizes]),
    ]
    if missing:
        parts.insert(3, f"Not found on this machine: Python {', '.join(missing)}.")
    return "\n\n".join(parts) + "\n"


def _step_rows(steps: Sequence[Step], pythons: Sequence[str]) -> list[tuple[str, ...]]:
    rows = []
    for name in dict.fromkeys(step.name for step in steps):
        taken = {step.python: step for step in steps if step.name == name}
        failed = [f"FAILED on {one.python}: {_last_line(one.problem)}" for one in taken.values() if one.problem]
        details = list(dict.fromkeys(one.detail for one in taken.values() if not one.problem))
        seconds = [f"{taken[python].seconds:.1f}" if python in taken else "" for python in pythons]
        rows.append((name, "; ".join(failed or details[:1]), *seconds))
    return rows


def _size_row(size: Size) -> tuple[str, ...]:
    return size.environment, size.python, str(size.packages), f"{size.megabytes:.0f}"


def _last_line(problem: str) -> str:
    return problem.strip().splitlines()[-1].replace("|", "\\|")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
