"""The page about scenarios: what each is about, what makes it hard, how success is judged. It solves no instance."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from importlib import import_module
from pathlib import Path

from companyos.contract import Split
from companyos_gateway import scenarios as scenarios_package
from companyos_gateway.chaos import Group, Kind, Mark, Profile, levels, profile_for
from companyos_gateway.reference.markdown import bullet, document, listed, paragraph, table, words
from companyos_gateway.reference.prose import PROSE, read_words
from companyos_gateway.scenarios import Scenario
from companyos_gateway.scenarios.parts.staging import REFUSALS_FROM, StagedScenario
from companyos_gateway.scenarios.striking import never_strikes
from companyos_gateway.taskset import COPIES, TaskSet

FOLDERS = Path(scenarios_package.__file__).parent
_FOLDER_LINK = "../gateway/src/companyos_gateway/scenarios"

_GROUPS = {
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
    return document(
        "# Scenarios",
        paragraph(PROSE["scenarios"]["introduction"]),
        table(("scenario", "what there is to do", "structures:", "steps:"), _overview(known)),
        "## How success is judged",
        "\n".join(bullet(text.format(refusals_from=REFUSALS_FROM)) for text in PROSE["scenarios"]["judged"]),
        "## Splits",
        *_splits(known),
        *(_section(name, scenario) for name, scenario in known.items()),
        "## What gets in the way",
        *_chaos(),
    )


def prose_of(readme: str) -> list[str]:
    """Return the paragraphs of a scenario's README between its title and its first table or heading."""
    body = readme.partition("\n\n")[2]
    told = re.split(r"\n\n(?=\||#|```)", body, maxsplit=1)[0]
    return [part for part in told.split("\n\n") if part.strip()]


def _overview(scenarios: Mapping[str, Scenario]) -> Iterator[tuple[str, ...]]:
    for name, scenario in scenarios.items():
        steps = getattr(scenario, "max_steps", "")
        yield f"[{name}](#{name})", _summary(scenario), str(len(_structures(scenario)) or ""), str(steps)


def _section(name: str, scenario: Scenario) -> str:
    folder = FOLDERS / name
    readme = (folder / "README.md").read_text(encoding="utf-8") if (folder / "README.md").is_file() else ""
    parts = [f"## {name}", f"*{_summary(scenario)}*", *prose_of(readme)]
    points = "\n".join(bullet(point) for point in _points(name, scenario))
    return "\n\n".join([*parts, points])


def _points(name: str, scenario: Scenario) -> Iterator[str]:
    structures = _structures(scenario)
    if structures:
        held_out = sorted(scenario.held_out)
        told = f"; only the test split has {listed(map(words, held_out))}" if held_out else ""
        yield f"Structures: {', '.join(map(words, structures))}{told}."
    if isinstance(scenario, StagedScenario):
        module = vars(import_module(type(scenario).__module__))
        always: Collection[Kind] = module.get("ALWAYS", ())
        never = never_strikes(scenario)
        without = [kind for kind in Kind if kind in never]
        yield f"Always in the way from level 1 on: {listed(words(kind) for kind in always)}."
        if without:
            yield f"Never strikes here: {', '.join(words(kind) for kind in without)}."
        count, most = len(scenario.tools) - len(scenario.distractors), scenario.max_steps
        beside = f", {len(scenario.distractors)} more distract" if scenario.distractors else ""
        yield f"{count} tools may be needed{beside}; {most} steps at most."
    yield f"How it is made and judged: [{name}]({_FOLDER_LINK}/{name}/README.md)."


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
    told = read_words("kinds")
    columns = [f"{profile.level}:" for profile in profiles[1:]]
    for group, title in _GROUPS.items():
        kinds = [kind for kind in Kind if kind.group is group]
        rows = [(_marked(kind, profiles), told.get(kind, ""), *_rates(kind, profiles[1:])) for kind in kinds]
        yield table((f"{title.lower()}", "what it is", *columns), rows)


def _marked(kind: Kind, profiles: list[Profile]) -> str:
    return f"**{words(kind)}**" if profiles[-1].mark(kind) is Mark.DECISIVE else f"*{words(kind)}*"


def _rates(kind: Kind, profiles: list[Profile]) -> list[str]:
    return [f"{100 * profile.rate(kind):g}" if profile.rate(kind) else "" for profile in profiles]


def _structures(scenario: Scenario) -> list[str]:
    """Return the variants of a scenario: the values of the enum that one of its cases is told by."""
    if not isinstance(scenario, StagedScenario):
        return []
    case = scenario.stage(0, profile_for(0), {}).case
    told = scenario.variant(case)
    shapes = (value for value in vars(case).values() if isinstance(value, StrEnum) and value.value == told)
    return [member.value for member in type(next(shapes))]


def _summary(scenario: Scenario) -> str:
    return (inspect.getdoc(scenario) or "").partition("\n")[0]
