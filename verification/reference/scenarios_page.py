"""The page about scenarios: what each is about, what makes it hard, how success is judged. It solves no instance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from companyos.contract import Split
from companyos_gateway.chaos import Group, Kind, Mark, Profile, levels, profile_for
from companyos_gateway.chaos.faults import ROUND
from companyos_gateway.scenarios import Scenario
from companyos_gateway.scenarios.parts.staging import REFUSALS_FROM
from companyos_gateway.server.scenario_facts import ScenarioFacts, facts_of
from companyos_gateway.taskset import COPIES, TaskSet
from verification.reference.markdown import as_words, bullet, document, join_names, paragraph, table
from verification.reference.texts import PROSE, read_texts

_FOLDER_LINK = "../gateway/src/companyos_gateway/scenarios"

GROUPS = {
    Group.DATA: "In the data",
    Group.PEOPLE: "With people",
    Group.TRANSPORT: "On the wire",
    Group.HOSTILE: "Hostile content",
    Group.DRIFT: "Drift",
    Group.EVENTS: "While the agent works",
}


def scenarios_page(scenarios: Mapping[str, Scenario]) -> str:
    """Return the page about these scenarios."""
    known = {name: scenarios[name] for name in sorted(scenarios)}
    facts = [facts_of(name, scenario) for name, scenario in known.items()]
    return document(
        "# Scenarios",
        paragraph(PROSE["scenarios"]["introduction"]),
        table(("scenario", "what there is to do", "structures:", "steps:"), _overview(facts)),
        "## How success is judged",
        "\n".join(bullet(text.format(refusals_from=REFUSALS_FROM)) for text in PROSE["scenarios"]["judged"]),
        "## Splits",
        *_splits(known),
        *map(_section, facts),
        "## What gets in the way",
        *_chaos(),
    )


def _overview(facts: Iterable[ScenarioFacts]) -> Iterator[tuple[str, ...]]:
    for one in facts:
        yield f"[{one.name}](#{one.name})", one.summary, str(len(one.structures) or ""), str(one.max_steps or "")


def _section(facts: ScenarioFacts) -> str:
    parts = [f"## {facts.name}", f"*{facts.summary}*", *facts.prose]
    points = "\n".join(bullet(point) for point in _points(facts))
    return "\n\n".join([*parts, points])


def _points(facts: ScenarioFacts) -> Iterator[str]:
    if facts.structures:
        details = f"; only the test split has {join_names(map(as_words, facts.held_out))}" if facts.held_out else ""
        yield f"Structures: {', '.join(map(as_words, facts.structures))}{details}."
    if facts.tools:
        yield f"Always in the way from level 1 on: {join_names(as_words(kind) for kind in facts.always)}."
        if facts.never:
            yield f"Never strikes here: {', '.join(as_words(kind) for kind in facts.never)}."
        beside = f", {len(facts.distractors)} more distract" if facts.distractors else ""
        yield f"{len(facts.tools)} tools may be needed{beside}; {facts.max_steps} steps at most."
    yield f"How it is made and judged: [{facts.name}]({_FOLDER_LINK}/{facts.name}/README.md)."


def _splits(scenarios: Mapping[str, Scenario]) -> Iterator[str]:
    task_set = TaskSet(scenarios)
    purposes = {Split.TRAIN: "to learn from", Split.VALIDATION: "to choose by", Split.TEST: "to measure with"}
    rows = [
        (split.value, purposes[split], str(COPIES[split] * len(levels())), f"{task_set.size(split):,}")
        for split in Split
    ]
    yield table(("split", "what for", "of each scenario:", "tasks:"), rows)
    yield paragraph(PROSE["scenarios"]["splits"])


def _chaos() -> Iterator[str]:
    profiles = [profile_for(level) for level in levels()]
    named = ", ".join(f"{profile.level} {profile.name}" for profile in profiles)
    yield paragraph(PROSE["scenarios"]["chaos"].format(levels=named, count=len(profiles)))
    details = read_texts("kinds")
    columns = [f"{profile.level}:" for profile in profiles[1:]]
    for group, title in GROUPS.items():
        kinds = [kind for kind in Kind if kind.group is group]
        rows = [(_styled_name(kind, profiles), details.get(kind, ""), *_rates(kind, profiles[1:])) for kind in kinds]
        if group is Group.TRANSPORT:
            yield paragraph(PROSE["scenarios"]["wire"].format(round=ROUND))
        yield table((f"{title.lower()}", "what it is", *columns), [*rows, *_budgets(group, profiles[1:])])


def _styled_name(kind: Kind, profiles: list[Profile]) -> str:
    return f"**{as_words(kind)}**" if profiles[-1].mark(kind) is Mark.DECISIVE else f"*{as_words(kind)}*"


def _rates(kind: Kind, profiles: list[Profile]) -> list[str]:
    return [", ".join(_format_rates(kind, profile)) for profile in profiles]


def _format_rates(kind: Kind, profile: Profile) -> Iterator[str]:
    known = profile.rates.get(kind)
    if known is None or not known.rate:
        return
    yield f"{100 * known.rate:g}"
    for service, rate in sorted(known.services.items()):
        yield f"{service} {100 * rate:g}"


def _budgets(group: Group, profiles: list[Profile]) -> Iterator[tuple[str, ...]]:
    """Yield what may strike at once, as rows below the rates."""
    budgets = [profile.budget for profile in profiles]
    if group is Group.TRANSPORT:
        yield "at most", "failures in a row", *(str(one.consecutive) for one in budgets)
        yield "at most", "rounds on a target that begin with failures", *(str(one.spells) for one in budgets)
    else:
        yield "at most", "kinds at once, beside what is always there", *(str(one.kinds(group)) for one in budgets)
