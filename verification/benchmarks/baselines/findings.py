"""Summary sentences computed from the baseline rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verification.benchmarks.baselines.formatting import percent
from verification.benchmarks.baselines.results import Row


def findings(rows: Sequence[Row]) -> list[str]:
    """Return summary sentences, each computed from the rows it mentions."""
    known = {row.name: row for row in rows}
    sentences = [
        finding(known)
        for finding in (_oracle_finding, _chance_finding, _skill_finding, _chaos_finding, _determinism_finding)
    ]
    broken = sum(row.infra_errors for row in rows)
    infra = f"{broken} episodes ended as infra_error." if broken else "No episode ended as infra_error."
    return [*(sentence for sentence in sentences if sentence), infra]


def _oracle_finding(known: Mapping[str, Row]) -> str:
    oracle = known.get("oracle")
    if oracle is None:
        return ""
    share = f"`oracle` succeeds in {percent(oracle.success.mean)} of its episodes"
    if oracle.success.mean == 1:
        return f"{share}: every task is solvable from what the agent sees, at every chaos level."
    return f"{share}. It should succeed in all; a task that it cannot solve is a defect of the environment."


def _chance_finding(known: Mapping[str, Row]) -> str:
    idle = [known[name] for name in ("noop", "random") if name in known]
    if not idle:
        return ""
    names = " and ".join(f"`{row.name}`" for row in idle)
    if any(row.success.mean for row in idle):
        return f"{names} succeed in {percent(max(row.success.mean for row in idle))} of their episodes at most."
    paid = " and ".join(f"{row.return_.mean:+.1f}" for row in idle)
    return f"{names} never succeed{'s' * (len(idle) == 1)}, and return {paid}: chance earns nothing."


def _skill_finding(known: Mapping[str, Row]) -> str:
    ladder = [known[name] for name in ("worker1", "worker2", "worker3", "oracle") if name in known]
    shares = [row.success.mean for row in ladder]
    if len(ladder) < 2:
        return ""
    shares_text = ", ".join(map(percent, shares))
    if shares == sorted(shares):
        return f"Success rises with skill from `{ladder[0].name}` to `{ladder[-1].name}` ({shares_text})."
    return f"From `{ladder[0].name}` to `{ladder[-1].name}` success does not rise throughout ({shares_text})."


def _chaos_finding(known: Mapping[str, Row]) -> str:
    shares_text = []
    for name in ("worker1", "worker2", "worker3"):
        calm, *_, storm = known[name].levels if name in known and len(known[name].levels) > 1 else (None, None)
        if calm is not None and storm is not None and storm.success.mean < calm.success.mean:
            shares_text.append(f"`{name}` from {percent(calm.success.mean)} to {percent(storm.success.mean)}")
    return f"Success falls from the lowest to the highest chaos level: {', '.join(shares_text)}." if shares_text else ""


def _determinism_finding(known: Mapping[str, Row]) -> str:
    same = [row for row in known.values() if row.differing == 0 and row.trials > 1]
    if not same:
        return ""
    names = ", ".join(f"`{row.name}`" for row in same)
    return (
        f"Episodes are deterministic: for {names} all {same[0].trials} trials of each task were identical, "
        f"so pass^{same[0].trials} equals pass@1."
    )
