"""A handbook page: its draft, the policy that it quotes, and the published page of the same title."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.documents import file_record
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, add_policy_versions
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.seed_documents.datahub import PolicyRow, RecordRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Person

READERS = (60, 600)
PUBLISHABLE_CLASS, OTHER_CLASS = "internal", "confidential"


class Variant(StrEnum):
    """A new page, a successor of a published page, and either of them with outdated values."""

    FIRST = "first"
    SUCCESSOR = "successor"
    OUTDATED = "outdated"
    OUTDATED_SUCCESSOR = "outdated_successor"

    @property
    def is_outdated(self) -> bool:
        """Say whether the draft quotes an earlier version of its policy."""
        return self in (Variant.OUTDATED, Variant.OUTDATED_SUCCESSOR)

    @property
    def has_predecessor(self) -> bool:
        """Say whether an older page of the same title is published."""
        return self in (Variant.SUCCESSOR, Variant.OUTDATED_SUCCESSOR)


class RefusalGround(StrEnum):
    """Why a page is refused, by the reason code of the policy."""

    OVERTAKEN = "duplicate"
    CLASSIFIED = "not_entitled"
    NO_CONSENT = "requirement_not_met"


@dataclass(frozen=True, kw_only=True)
class Page:
    """A draft with the policy that it quotes, and the published page of its title where there is one."""

    variant: Variant
    ground: RefusalGround | None
    owner: Person
    draft: RecordRow
    rule: PolicyRow
    published: RecordRow | None
    needs_consent: bool

    @property
    def readers(self) -> int:
        """The number of readers that the draft names."""
        return int(self.draft.fields["readers"])


def add_page(
    world: WorldBuilder, stream: Stream, chapter: Mapping[str, Any], kinds: Collection[Kind], *, must_refuse: bool
) -> Page:
    """Add the policy that a page quotes, its draft, and the pages that are like it."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant = stream.choice(list(Variant))
    authors = [one for one in world.staff.active() if not one.roles and one.id != world.agent_id]
    owner, other = stream.sample(authors, 2)
    rule = _add_rule(world, stream, chapter, {*kinds, *([Kind.SUPERSEDED_POLICY] if variant.is_outdated else [])})
    draft = _file_page(world, stream, chapter["title"], owner, _draw_content(world, stream, variant, rule))
    needs_consent = ground is RefusalGround.NO_CONSENT or (ground is None and stream.chance(0.5))
    published = None
    if variant.has_predecessor or ground is RefusalGround.OVERTAKEN:
        published = _file_published(world, stream, draft, is_later=ground is RefusalGround.OVERTAKEN)
    if Kind.SIMILAR_NAMES in kinds:
        later = draft.fields["revision"] + stream.integer(1, 3)
        _file_page(world, stream, draft.title, other, {**draft.fields, "revision": later})
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


def _add_rule(world: WorldBuilder, stream: Stream, chapter: Mapping[str, Any], kinds: Collection[Kind]) -> PolicyRow:
    figures: PolicyParameters = {name: stream.integer(low, high) for name, (low, high) in chapter["figures"].items()}
    world.free_policy_id, kept = f"POL-{stream.integer(60, 99):03d}", world.free_policy_id
    rule = add_policy_versions(
        world,
        stream,
        titles=[chapter["policy"]],
        topic=chapter["policy"].lower().replace(" ", "-"),
        body=lambda _figures: str(chapter["body"]),
        in_force=figures,
        superseded=lambda own: {name: value + own.integer(1, 3) for name, value in figures.items()},
        kinds=kinds,
    )
    world.free_policy_id = kept
    return rule


def _draw_content(world: WorldBuilder, stream: Stream, variant: Variant, rule: PolicyRow) -> dict[str, Any]:
    """Draw the fields of a page that quotes the policy in force, or an earlier version of it."""
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


def _file_page(world: WorldBuilder, stream: Stream, title: str, owner: Person, fields: dict[str, Any]) -> RecordRow:
    day = working_days_from(world.today, -stream.integer(3, 25))
    return file_record(world, stream, "document", title=title, state="draft", day=day, fields=fields, owner_id=owner.id)


def _file_published(world: WorldBuilder, stream: Stream, draft: RecordRow, *, is_later: bool) -> RecordRow:
    """File a published page of the draft's title, of an older revision or at least of the same."""
    published_on = working_days_from(world.today, -stream.integer(30, 200))
    change = stream.integer(0, 2) if is_later else -stream.integer(1, 2)
    page = file_record(
        world,
        stream,
        "document",
        title=draft.title,
        state="published",
        day=working_days_from(published_on, -stream.integer(1, 20)),
        fields={
            **draft.fields,
            "revision": draft.fields["revision"] + change,
            "published_on": published_on.isoformat(),
        },
        owner_id=draft.owner_id,
    )
    page.version, page.updated_at = 2, draw_office_time(stream, published_on)
    return page
