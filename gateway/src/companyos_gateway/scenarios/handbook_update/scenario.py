"""Handbook updates: the page agrees with the policy that it quotes, is approved by HR and replaces the older page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.blocks.policy_versions import add_policy_versions

PRIORITY_STEP, CONSENT_STEP = 200, 100
"""Steps of the limits of priorities and of consent."""

READERS = (1_600, 6_000)
PUBLISHABLE_CLASS, OTHER_CLASS = "internal", "confidential"


class Variant(StrEnum):
    """Variant of the case: a new page or a successor of a published one, with or without outdated values."""

    FIRST = "first"
    SUCCESSOR = "successor"
    OUTDATED = "outdated"
    OUTDATED_SUCCESSOR = "outdated_successor"

    @property
    def is_outdated(self) -> bool:
        """Return whether the draft quotes an earlier version of its policy."""
        return self in (Variant.OUTDATED, Variant.OUTDATED_SUCCESSOR)

    @property
    def has_predecessor(self) -> bool:
        """Return whether an older page of the same title is published."""
        return self in (Variant.SUCCESSOR, Variant.OUTDATED_SUCCESSOR)


class RefusalGround(StrEnum):
    """Ground for refusing a page; the value is the policy's reason code."""

    OVERTAKEN = "duplicate"
    CLASSIFIED = "not_entitled"
    NO_CONSENT = "requirement_not_met"


@dataclass(frozen=True, kw_only=True)
class Page:
    """A draft, the policy that it quotes, and the published page of its title, if there is one."""

    variant: Variant
    ground: RefusalGround | None
    owner: kit.Person
    draft: kit.RecordRow
    rule: kit.PolicyRow
    published: kit.RecordRow | None
    needs_consent: bool

    @property
    def readers(self) -> int:
        """The number of readers that the draft states."""
        return int(self.draft.fields["readers"])


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


def add_page(build: kit.BuildContext, chapter: Mapping[str, Any]) -> Page:
    """Add the policy that a page quotes, its draft, and similar pages."""
    world, stream = build.world, build.stream
    ground = build.draw_ground(RefusalGround)
    variant = stream.choice(list(Variant))
    authors = [one for one in world.staff.active() if not one.roles and one.id != world.agent_id]
    owner, other = stream.sample(authors, 2)
    outdated = [kit.Kind.SUPERSEDED_POLICY] if variant.is_outdated else []
    rule = _add_rule(replace(build, kinds=build.kinds | set(outdated)), chapter)
    draft = _file_page(build, chapter["title"], owner, _draw_content(build, variant, rule))
    needs_consent = ground is RefusalGround.NO_CONSENT or (ground is None and stream.chance(0.5))
    published = None
    if variant.has_predecessor or ground is RefusalGround.OVERTAKEN:
        published = _file_published(build, draft, is_later=ground is RefusalGround.OVERTAKEN)
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        later = draft.fields["revision"] + stream.integer(1, 3)
        _file_page(build, draft.title, other, {**draft.fields, "revision": later})
    if needs_consent and ground is None:
        draft.fields["consent_ref"] = f"WC-{stream.integer(100, 999)}"
    if ground is RefusalGround.CLASSIFIED:
        draft.fields["classification"] = OTHER_CLASS
    return Page(
        variant=variant,
        ground=ground,
        owner=owner,
        draft=draft,
        rule=rule,
        published=published,
        needs_consent=needs_consent,
    )


def _add_rule(build: kit.BuildContext, chapter: Mapping[str, Any]) -> kit.PolicyRow:
    world, stream = build.world, build.stream
    figures: kit.Figures = {name: stream.integer(low, high) for name, (low, high) in chapter["figures"].items()}
    world.free_policy_ids.append(f"POL-{stream.integer(60, 99):03d}")
    return add_policy_versions(
        world,
        stream,
        titles=[chapter["policy"]],
        topic=chapter["policy"].lower().replace(" ", "-"),
        body=lambda _figures: str(chapter["body"]),
        in_force=figures,
        superseded=lambda own: {name: value + own.integer(1, 3) for name, value in figures.items()},
        kinds=build.kinds,
    )


def _draw_content(build: kit.BuildContext, variant: Variant, rule: kit.PolicyRow) -> dict[str, Any]:
    """Draw the fields of a page that quotes the policy in force, or an earlier version of it."""
    world, stream = build.world, build.stream
    earlier = [row for row in world.datahub.policies if row.policy_id == rule.policy_id and row.version < rule.version]
    quoted = stream.choice(earlier) if variant.is_outdated else rule
    return {
        "document_type": "handbook",
        "revision": stream.integer(3, 14),
        "policy_ref": rule.policy_id,
        "policy_version": quoted.version,
        "readers": stream.integer(*READERS),
        "classification": PUBLISHABLE_CLASS,
        **quoted.parameters,
    }


def _file_page(build: kit.BuildContext, title: str, owner: kit.Person, fields: dict[str, Any]) -> kit.RecordRow:
    day = build.working_day_ago(5, 25)
    return build.file_record("document", title=title, state="draft", day=day, fields=fields, owner_id=owner.id)


def _file_published(build: kit.BuildContext, draft: kit.RecordRow, *, is_later: bool) -> kit.RecordRow:
    """File a published page with the draft's title: an older revision or, with `is_later`, the same or a newer one."""
    stream = build.stream
    published_on = build.working_day_ago(30, 200)
    change = stream.integer(0, 2) if is_later else -stream.integer(1, 2)
    page = build.file_record(
        "document",
        title=draft.title,
        state="published",
        day=kit.working_days_from(published_on, -stream.integer(1, 20)),
        fields={
            **draft.fields,
            "revision": draft.fields["revision"] + change,
            "published_on": published_on.isoformat(),
        },
        owner_id=draft.owner_id,
    )
    page.version, page.updated_at = 2, kit.draw_office_time(stream, published_on)
    return page


SCENARIO = HandbookUpdate()
