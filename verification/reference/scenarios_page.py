"""Renders docs/scenarios.md: one table row per scenario, the splits, and the kinds of chaos with their rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from companyos.contract import SHIFT_SIZES, CompanySize, Split
from companyos_gateway.api.scenario_info import ScenarioDetails, scenario_details
from companyos_gateway.chaos import Group, Kind, Mark, Profile, levels, profile_for
from companyos_gateway.chaos.profiles import MIN_OUTAGE_MINUTES
from companyos_gateway.evaluation.milestones import MAX_MILESTONE_POINTS, MILESTONE_KINDS
from companyos_gateway.scenarios import Scenario
from companyos_gateway.scenarios.blocks.chaos_draws import REFUSAL_MIN_LEVEL
from companyos_gateway.scenarios.shift_cases import eligible_scenarios
from companyos_gateway.scenarios.shift_features import DESCRIPTIONS, QUEUE_TAG
from companyos_gateway.scenarios.shifts import MAX_STEPS, STEP_SHARE
from companyos_gateway.tasks import COPIES, TaskSet
from companyos_gateway.world.base_company import OFFICES, find_base_company
from verification.reference.markdown import PROSE, as_words, bullet, document, paragraph, read_texts, table

_FOLDER_LINK = "../gateway/src/companyos_gateway/scenarios"

GROUPS = {
    Group.DATA: "Data",
    Group.PEOPLE: "People",
    Group.TRANSPORT: "Transport",
    Group.HOSTILE: "Hostile content",
    Group.DRIFT: "Drift",
    Group.EVENTS: "Events during the episode",
}


def scenarios_page(scenarios: Mapping[str, Scenario]) -> str:
    known = {name: scenarios[name] for name in sorted(scenarios)}
    facts = [scenario_details(name, scenario) for name, scenario in known.items()]
    return document(
        "# Scenarios",
        paragraph(PROSE["scenarios"]["introduction"]),
        table(("scenario", "task", "structures", "always present from level 1", "tools:", "steps:"), map(_row, facts)),
        "Tools are those that may be needed, plus distractors. Steps are the limit of an episode.",
        "## Success",
        "\n".join(bullet(text.format(refusals_from=REFUSAL_MIN_LEVEL)) for text in PROSE["scenarios"]["judged"]),
        "[Scoring](../README.md#scoring) lists the rewards.",
        "## Milestones",
        paragraph(PROSE["scenarios"]["milestones"].format(most=f"{MAX_MILESTONE_POINTS:g}")),
        table(("kind", "points:", "paid", "condition"), _milestones()),
        "## Splits",
        *_splits(known),
        "## Shifts",
        *_shifts(known),
        "## Company sizes",
        *_company_sizes(),
        "## Chaos",
        *_chaos(),
    )


def _row(facts: ScenarioDetails) -> tuple[str, ...]:
    held_out = {*facts.held_out}
    structures = (f"*{as_words(name)}*" if name in held_out else as_words(name) for name in facts.structures)
    return (
        f"[{facts.name}]({_FOLDER_LINK}/{facts.name}/README.md)",
        facts.summary,
        ", ".join(structures),
        ", ".join(map(as_words, facts.always)),
        f"{len(facts.tools)} + {len(facts.distractors)}" if facts.tools else "",
        str(facts.max_steps or ""),
    )


def _milestones() -> list[tuple[str, str, str, str]]:
    return [
        (as_words(name), f"{kind.points:g}", "at the end" if kind.at_end else "at once", kind.text)
        for name, kind in MILESTONE_KINDS.items()
    ]


def _splits(scenarios: Mapping[str, Scenario]) -> Iterator[str]:
    task_set = TaskSet(scenarios)
    purposes = {Split.TRAIN: "training", Split.VALIDATION: "model selection", Split.TEST: "final measurement"}
    rows = [
        (split.value, purposes[split], str(COPIES[split] * len(levels())), f"{task_set.size(split):,}")
        for split in Split
    ]
    yield table(("split", "purpose", "tasks per scenario:", "tasks:"), rows)
    splits = PROSE["scenarios"]["splits"].format(storm=COPIES[Split.TEST], last=levels()[-1])
    yield from map(paragraph, splits.split("\n\n"))


def _shifts(scenarios: Mapping[str, Scenario]) -> Iterator[str]:
    sizes = ", ".join(f"`{name}`: {count}" for name, count in SHIFT_SIZES.items())
    excluded = " and ".join(f"`{name}`" for name in scenarios if name not in eligible_scenarios(scenarios))
    yield paragraph(PROSE["scenarios"]["shifts"].format(sizes=sizes, excluded=excluded, tag=QUEUE_TAG))
    yield paragraph(PROSE["scenarios"]["shifts_features"])
    yield table(("feature", "meaning"), ((f"`{one}`", text) for one, text in DESCRIPTIONS.items()))
    yield paragraph(PROSE["scenarios"]["shifts_judged"].format(share=round(100 * STEP_SHARE), steps=MAX_STEPS))


def _company_sizes() -> Iterator[str]:
    offices = find_base_company(CompanySize.MEDIUM)
    company = offices.documents["ticketdesk"]["company"]
    counts = (
        len(company["people"]),
        len(offices.documents["ticketdesk"]["tickets"]),
        len(offices.documents["datahub"]["records"]),
        len(offices.documents["approvalflow"]["requests"]),
    )
    yield paragraph(PROSE["scenarios"]["company_sizes"].format(team=company["teams"][0]["id"]))
    rows = [
        (f"`{size}`", str(count), *(_rounded(one * count / OFFICES[CompanySize.MEDIUM]) for one in counts))
        for size, count in OFFICES.items()
    ]
    yield table(("ending", "other offices:", "employees:", "tickets:", "records:", "requests:"), rows)
    yield paragraph(PROSE["scenarios"]["company_sizes_shared"])


def _rounded(number: float) -> str:
    """Return a number rounded to two significant digits."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _chaos() -> Iterator[str]:
    profiles = [profile_for(level) for level in levels()]
    named = ", ".join(f"{profile.level} {profile.name}" for profile in profiles)
    yield paragraph(PROSE["scenarios"]["chaos"].format(levels=named, count=len(profiles), last=profiles[-1].level))
    details = read_texts("kinds")
    rates = f"% at {profiles[1].level} to {profiles[-1].level}:"
    for group, title in GROUPS.items():
        kinds = [kind for kind in Kind if kind.group is group]
        rows = [(_styled_name(kind, profiles), details.get(kind, ""), _rates(kind, profiles[1:])) for kind in kinds]
        if group is Group.TRANSPORT:
            yield paragraph(PROSE["scenarios"]["wire"].format(shortest=MIN_OUTAGE_MINUTES))
        yield table((title.lower(), "meaning", rates), [*rows, *_limits(group, profiles[1:])])


def _styled_name(kind: Kind, profiles: list[Profile]) -> str:
    return f"**{as_words(kind)}**" if profiles[-1].mark(kind) is Mark.DECISIVE else f"*{as_words(kind)}*"


def _rates(kind: Kind, profiles: list[Profile]) -> str:
    """Return the rates per level in percent, followed by services with different rates."""
    known = [profile.rates.get(kind) for profile in profiles]
    services = sorted({service for profile in known if profile for service in profile.services})
    own = (f"{name} {_joined(one.services.get(name, one.rate) if one else 0 for one in known)}" for name in services)
    return ", ".join([_joined(profile.rate if profile else 0 for profile in known), *own])


def _joined(rates: Iterable[float]) -> str:
    return "/".join(f"{100 * rate:g}" for rate in rates)


def _limits(group: Group, profiles: list[Profile]) -> Iterator[tuple[str, str, str]]:
    """Yield the limits of concurrent chaos per level, as table rows."""
    budgets = [profile.budget for profile in profiles]
    if group is Group.TRANSPORT:
        yield "at most", "minutes per outage", "/".join(str(budget.outage_minutes) for budget in budgets)
        yield (
            "at most",
            "timeouts of one operation on one target",
            "/".join(str(budget.timeouts) for budget in budgets),
        )
    else:
        yield (
            "at most",
            "kinds at once, besides those always present",
            "/".join(str(budget.kinds(group)) for budget in budgets),
        )
