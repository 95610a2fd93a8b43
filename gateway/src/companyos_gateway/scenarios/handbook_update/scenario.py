"""Handbook updates: the page agrees with the policy that it quotes, is approved by HR and replaces the older page."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.handbook_update.documents import (
    PUBLISHABLE_CLASS,
    READERS,
    Page,
    RefusalGround,
    Variant,
    add_page,
)

PRIORITY_STEP, CONSENT_STEP = 200, 100
"""Steps of the limits of priorities and of consent."""


class HandbookUpdate(kit.DeclaredScenario[Page]):
    """Publish a handbook page: check it against its sources, get HR's approval, and archive the previous page."""

    name, team, topic, max_steps = "handbook_update", "people", "handbook", 120
    tags, duplicate_tags = ("handbook",), ("handbook", "publication")
    held_out = frozenset({Variant.OUTDATED_SUCCESSOR.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    applicable = kit.buildable_kinds(
        exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE, kit.Kind.LIMIT_TOO_LOW), opt_in=kit.OPT_IN_KINDS
    )
    distractors = (*kit.USUAL_DISTRACTORS, "ticketdesk_link_tickets", "datahub_update_vendor")

    def draw(self, build: kit.BuildContext) -> Page:
        """Add the draft, the policy that it quotes, and similar pages."""
        return add_page(build, build.stream.choice(self.texts()["chapter"]))

    def slots(self, facts: Page) -> Mapping[str, str]:
        """Return the draft, its chapter, the policy that it quotes and its owner."""
        draft, owner = facts.draft, facts.owner
        return {
            "document": draft.id,
            "title": draft.title,
            "chapter": draft.title.partition(": ")[2],
            "rule": facts.rule.policy_id,
            "revision": str(draft.fields["revision"]),
            "readers": str(facts.readers),
            "owner": owner.name,
            "owner_id": owner.id,
        }

    def figures(self, facts: Page, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities and of consent; another version decides differently about the consent."""
        fewest, most = READERS
        asks_consent = facts.needs_consent == in_force
        lowest, highest = (fewest // 2, facts.readers) if asks_consent else (facts.readers + 1, most + 500)
        consent = stream.integer(-(-lowest // CONSENT_STEP), highest // CONSENT_STEP) * CONSENT_STEP
        return {
            **kit.priority_limits(stream, facts.readers, priority, step=PRIORITY_STEP, unit="_readers"),
            "publishable_class": PUBLISHABLE_CLASS,
            "consent_from_readers": consent,
        }

    def deputies(self, build: kit.BuildContext, facts: Page, request: kit.Request) -> set[str]:
        """Return the leads of all teams except the executive office, who may stand in for the HR lead."""
        return {build.world.staff.lead(team.id).id for team in build.world.staff.teams if team.id != kit.EXECUTIVE}

    def solution(self, facts: Page, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Correct the draft, have it approved, publish it and archive the older page; or refuse."""
        draft, rule, older = facts.draft, facts.rule, facts.published
        against_ids = (older.id,) if older and facts.ground is RefusalGround.OVERTAKEN else ()
        quoted = {**rule.parameters, "policy_version": rule.version}
        request = kit.Request(
            type_key="document_publication",
            subject=draft.id,
            role=kit.Role.HR_LEAD,
            fields=kit.request_fields(
                document_id=draft.id,
                revision=draft.fields["revision"],
                policy_id=rule.policy_id,
                policy_version=kit.AfterRecordUpdate(rule.version, draft.id, quoted),
            ),
        )
        page = kit.RecordGoal(
            record_id=draft.id,
            state="published",
            fields=quoted,
            reference_field="approval_ref",
            may_set_fields_early=True,
        )
        outcome = kit.Outcome(
            requests=(request,),
            goals=(page, kit.RecordGoal(record_id=older.id, state="archived")) if older else (page,),
            facts=tuple(map(kit.record_shown, (draft.id, *against_ids))),
            subjects=(draft.id,),
        )
        refusal = kit.refusal_for(facts.ground, policy, *against_ids)
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal)


SCENARIO = HandbookUpdate()
