"""Adversaries: agents that choose by a shortcut, or omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from functools import cached_property

from companyos_players import Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    UnlinksBlockers,
    build_adversaries,
    compose,
    refuses_without_reading,
)
from companyos_players.fair.project_selection import ProjectSelectionWorker, total
from companyos_players.player import Json


class TakesFirstFit(NeverRefuses, ProjectSelectionWorker):
    """Takes one proposal after the other, the most points first, while the selection stays valid."""

    def rank(self, proposal: Json) -> float:
        """Return the sort key of a proposal; the highest is taken first."""
        return self.points(proposal)

    @cached_property
    def selection(self) -> list[Json]:
        selected: list[Json] = []
        for one in sorted(self.eligible(), key=self.rank, reverse=True):
            if self.is_valid([*selected, one]):
                selected.append(one)
        return selected


class TakesBestRatio(TakesFirstFit):
    """Takes the proposal with the most points per cost first."""

    def rank(self, proposal: Json) -> float:
        return self.points(proposal) / float(proposal["fields"]["cost_cents"])


class TakesCheapest(TakesFirstFit):
    """Takes the cheapest proposal first."""

    def rank(self, proposal: Json) -> float:
        return -float(proposal["fields"]["cost_cents"])


class TakesAnyValid(NeverRefuses, ProjectSelectionWorker):
    """Takes the first valid selection that it finds."""

    @cached_property
    def selection(self) -> list[Json]:
        return next(self.valid_selections())


class IgnoresRule(NeverRefuses, ProjectSelectionWorker):
    """Ignores a rule, and drops a proposal if the selection keeps to the rule nevertheless."""

    def keeps_rule(self, selection: list[Json]) -> bool:
        """Return whether a selection complies with the rule."""
        raise NotImplementedError

    @cached_property
    def selection(self) -> list[Json]:
        chosen = max(self.valid_selections(), key=lambda one: (sum(map(self.points, one)), -total(one)))
        return chosen[:-1] if self.keeps_rule(chosen) else chosen


class IgnoresLowScores(IgnoresRule):
    """Takes proposals whatever their review score."""

    def eligible(self) -> list[Json]:
        return self.proposals

    def keeps_rule(self, selection: list[Json]) -> bool:
        eligible = super().eligible()
        return all(one in eligible for one in selection)


class IgnoresTeams(IgnoresRule):
    """Ignores the limit per team."""

    def is_balanced(self, selection: list[Json]) -> bool:
        return True

    def keeps_rule(self, selection: list[Json]) -> bool:
        return super().is_balanced(selection)


class IgnoresDependencies(IgnoresRule):
    """Ignores what proposals depend on."""

    def is_whole(self, selection: list[Json]) -> bool:
        return True

    def keeps_rule(self, selection: list[Json]) -> bool:
        return super().is_whole(selection)


class IncludesDrafts(NeverRefuses, ProjectSelectionWorker):
    """Selects a draft as well."""

    async def record(self) -> None:
        await super().record()
        drafts = await self.hub.find_by_value("proposal", self.line["id"], "draft")
        await self.hub.update(drafts[0]["id"], state="selected")


class LeavesTheOthers(NeverRefuses, ProjectSelectionWorker):
    """Leaves the proposals that are not selected as they are."""

    async def record(self) -> None:
        for one in self.selection:
            await self.hub.update(one["id"], state="selected")


class RecordsAfterApproval(NeverRefuses, ProjectSelectionWorker):
    """Records the selection once it is approved."""

    async def execute(self) -> None:
        await Worker.execute(self)

    async def follow_up(self, request_id: str) -> None:
        await self.record()
        await super().follow_up(request_id)


class CommitsTotal(NeverRefuses, ProjectSelectionWorker):
    """Also adds the total to the committed amount."""

    async def follow_up(self, request_id: str) -> None:
        await super().follow_up(request_id)
        committed = self.line["fields"]["committed_cents"] + self.amount_cents()
        await self.hub.update(self.line["id"], fields={"committed_cents": committed})


class SkipsReference(NeverRefuses, ProjectSelectionWorker):
    """Does not name the approval on the line."""

    async def follow_up(self, request_id: str) -> None:
        return


class TakesSimilarLine(NeverRefuses, ProjectSelectionWorker):
    """Uses a line with the right title and another cost center."""

    async def find_line(self, text: str) -> Json:
        right = await super().find_line(text)
        rows = await self.hub.find(query=right["title"], kind="budget_line")
        twins = [row["id"] for row in rows if row["title"] == right["title"] and row["id"] != right["id"]]
        return await self.hub.read(twins[0]) if twins else right


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "take_first_fit": TakesFirstFit,
    "take_best_ratio": TakesBestRatio,
    "take_cheapest": TakesCheapest,
    "take_any_valid": TakesAnyValid,
    "ignore_low_scores": IgnoresLowScores,
    "ignore_teams": IgnoresTeams,
    "ignore_dependencies": IgnoresDependencies,
    "include_drafts": IncludesDrafts,
    "leave_the_others": LeavesTheOthers,
    "record_late": RecordsAfterApproval,
    "commit_total": CommitsTotal,
    "skip_reference": SkipsReference,
    "take_the_twin": TakesSimilarLine,
    "refuse_unseen": refuses_without_reading(ProjectSelectionWorker, "policy_violation", "It seems wrong."),
    "tear_off_links": compose(UnlinksBlockers, ProjectSelectionWorker),
}
ADVERSARIES = build_adversaries(ProjectSelectionWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "take_the_twin": "similar_names",
    "tear_off_links": "blocked_ticket",
}
