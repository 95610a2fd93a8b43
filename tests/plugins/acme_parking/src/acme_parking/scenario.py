"""The scenario: one requested permit is issued, and no other permit changes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files

from companyos.contract import FinishOutcome
from companyos_gateway.chaos import FaultPlan, profile_for
from companyos_gateway.evaluation import FinishDeclaration, Milestone
from companyos_gateway.evaluation.change_policy import ChangePolicy, changed_keys
from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.api import Instance
from companyos_gateway.world import finish_world, generate_world
from companyos_shared.streams import digest

BRIEFS = tomllib.loads((files(__package__) / "texts.toml").read_text(encoding="utf-8"))["briefs"]


class ParkingPermit:
    """Issue a requested parking permit."""

    name = "parking_permit"
    held_out: frozenset[str] = frozenset()

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the instance of a seed and chaos level."""
        stream = kit.Stream(self.name, seed)
        world = generate_world(stream.child("world"))
        person = stream.child("person").choice(world.staff.active())
        permit_id = world.ids.take("PRM")
        permits = world.service_documents["parking"]["permits"]
        permits.append({"id": permit_id, "person_id": person.id, "status": "requested"})
        finish_world(world)
        documents = world.documents(draw_seed=digest([self.name, seed]))
        return Instance(
            scenario=self.name,
            seed=seed,
            chaos=chaos,
            brief=stream.child("brief").choice(BRIEFS).format(key=permit_id),
            company_name=world.company_name,
            acting_as=world.agent_id,
            started_at=world.started_at,
            max_steps=20,
            documents=documents,
            task_tools=("parking_list_permits", "parking_issue_permit"),
            variant="single",
            faults=FaultPlan.from_profile(profile_for(chaos), overrides or {}, self.name, seed),
            rubric=rubric(permit_id),
            injections=(),
        )


def rubric(permit_id: str) -> kit.TaskRubric:
    """Return the rubric: the permit is issued, and nothing else has changed."""

    def is_issued(evidence: kit.Evidence) -> bool:
        row = evidence.row("parking", "permits", permit_id)
        return row is not None and row["status"] == "issued"

    def find_mismatch(evidence: kit.Evidence) -> kit.Mismatch | None:
        return None if is_issued(evidence) else kit.Mismatch(f"parking.permits[{permit_id}]", "issued", "not issued")

    def check_declaration(_evidence: kit.Evidence, finish: FinishDeclaration | None) -> kit.Mismatch | None:
        is_correct = finish is None or finish.outcome is FinishOutcome.DONE
        return None if is_correct else kit.Mismatch("finish", "outcome: done", "another outcome")

    changes = ChangePolicy([kit.Allowance("parking", "permits", changed_keys([permit_id]), frozenset({"status"}))])
    return kit.TaskRubric(
        checks=[kit.Check("issued", False, find_mismatch), changes.check()],
        milestones=[Milestone("issued", 2.0, is_issued)],
        declaration=check_declaration,
        damage=changes.damage,
        rejections=lambda _evidence: 0,
        is_closed=is_issued,
    )


SCENARIO = ParkingPermit()
