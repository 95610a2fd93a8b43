"""The players of project selections: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from companyos_players import Json, Objection, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    OmitsRecordUpdate,
    UnlinksBlockers,
    build_adversaries,
    compose,
    refuses_without_reading,
)


class ProjectSelectionWorker(Worker):
    """Handles one round. Adversaries override single methods."""

    type_words = "project selection"
    justification = "The valid selection with the most points; its total is available on the budget line."

    async def investigate(self) -> None:
        """Find the budget line, and the proposals that name it."""
        self.line = await self.find_line(self.ticket.known["description"])
        self.proposals = await self.hub.find_by_value("proposal", self.line["id"], "submitted")

    async def find_line(self, text: str) -> Json:
        """Return the line cited by ID, or by title and cost center."""
        center = re.search(r"CC-[0-9]+", text)
        cited = await self.hub.find_cited(text, "BUD", kind="budget_line")
        return next(one for one in cited if center is None or one["fields"]["cost_center"] == center[0])

    def available_cents(self) -> int:
        """Return the budget that is left."""
        fields = self.line["fields"]
        return int(fields["budget_cents"] - fields["committed_cents"] - fields["spent_cents"])

    @cached_property
    def selection(self) -> list[Json]:
        """The valid selection with the most points; among equals, the cheapest one."""
        return max(self.valid_selections(), key=lambda one: (sum(map(self.points, one)), -total(one)))

    def points(self, proposal: Json) -> int:
        """Return the review score plus the bonus under the policy."""
        fields, figures = proposal["fields"], self.policy["parameters"]
        bonus = figures["bonus_points"] if fields["category"] == figures["bonus_category"] else 0
        return int(fields["review_score"] + bonus)

    def eligible(self) -> list[Json]:
        """Return the proposals with a sufficient review score."""
        least = self.policy["parameters"]["least_score"]
        return [one for one in self.proposals if one["fields"]["review_score"] >= least]

    def valid_selections(self) -> Iterator[list[Json]]:
        """Yield every valid selection."""
        eligible = self.eligible()
        for chosen in range(1, 1 << len(eligible)):
            selection = [one for place, one in enumerate(eligible) if chosen >> place & 1]
            if self.is_valid(selection):
                yield selection

    def is_valid(self, selection: list[Json]) -> bool:
        """Return whether a selection is within the available amount, the limit per team and the dependencies."""
        return total(selection) <= self.available_cents() and self.is_balanced(selection) and self.is_whole(selection)

    def is_balanced(self, selection: list[Json]) -> bool:
        """Return whether no team exceeds its limit of proposals."""
        most = self.policy["parameters"]["most_per_team"]
        return max(Counter(one["fields"]["team_id"] for one in selection).values()) <= int(most)

    def is_whole(self, selection: list[Json]) -> bool:
        """Return whether the selection contains the dependency of each proposal."""
        return {one["fields"].get("depends_on") for one in selection} <= {None, *(one["id"] for one in selection)}

    async def objection(self) -> Objection | None:
        """Object to an unauthorized requester, a frozen line and too few eligible proposals."""
        if self.ticket.known["reporter_id"] != self.line["owner_id"]:
            return Objection("not_entitled", self.ticket.known["reporter_id"], "The owner did not ask for this.")
        if self.line["state"] == "frozen":
            return Objection("policy_violation", self.line["id"], "The line is frozen.")
        if len(self.eligible()) < self.policy["parameters"]["least_proposals"]:
            return Objection("requirement_not_met", self.policy["policy_id"], "Too few proposals are eligible.")
        return None

    async def answer(self, question: str) -> str:
        """Answer with the cost center or the budget of the line."""
        if "cost center" in question:
            return f"The cost center of {self.line['id']} is {self.line['fields']['cost_center']}."
        return f"The budget of {self.line['id']} is {self.line['fields']['budget_cents'] / 100:,.2f} EUR."

    def identifiers(self) -> tuple[str, ...]:
        """Return the line's ID."""
        return (self.line["id"],)

    def priority(self) -> str:
        """Return the priority for the available amount."""
        return self.level(self.available_cents())

    def subject(self) -> str:
        return str(self.line["id"])

    def amount_cents(self) -> int:
        """Return the total cost of the selection."""
        return total(self.selection)

    def fields(self) -> Json:
        amount = self.amount_cents()
        return {"budget_line_id": self.line["id"], "amount_cents": amount, "projects": len(self.selection)}

    async def execute(self) -> None:
        """Record the selection before getting the approval."""
        await self.record()
        await super().execute()

    async def record(self) -> None:
        """Set the state of every proposal of the round."""
        for one in self.proposals:
            await self.hub.update(one["id"], state="selected" if one in self.selection else "not_selected")

    async def follow_up(self, request_id: str) -> None:
        """Record the approval on the budget line."""
        await self.hub.update(self.line["id"], fields={"approval_ref": request_id})


def total(selection: list[Json]) -> int:
    """Return the cost of a selection in cents."""
    return sum(one["fields"]["cost_cents"] for one in selection)


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


class TakesSimilarLine(NeverRefuses, ProjectSelectionWorker):
    """Uses a line with the right title and another cost center."""

    async def find_line(self, text: str) -> Json:
        right = await super().find_line(text)
        rows = await self.hub.find_titled(right["title"], kind="budget_line")
        twins = [row["id"] for row in rows if row["id"] != right["id"]]
        return await self.hub.read(twins[0]) if twins else right


play = ProjectSelectionWorker.play
WORKER = ProjectSelectionWorker
ADVERSARIES = build_adversaries(
    ProjectSelectionWorker,
    {
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
        "skip_reference": compose(OmitsRecordUpdate, ProjectSelectionWorker),
        "take_the_twin": TakesSimilarLine,
        "refuse_unseen": refuses_without_reading(ProjectSelectionWorker, "policy_violation", "It seems wrong."),
        "tear_off_links": compose(UnlinksBlockers, ProjectSelectionWorker),
    },
)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "take_the_twin": "similar_names",
    "tear_off_links": "blocked_ticket",
}
