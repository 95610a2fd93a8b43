"""The page and what it rests on: the draft, the policy that it quotes, and the page that is published already."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, add_policy_versions
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.scenarios.handbook_update.case import RefusalGround, Variant
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.seed_documents.datahub import PolicyRow, RecordRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Person

READERS = (60, 600)
CLASSES = ("internal", "public")
OTHER_CLASS = "confidential"


@dataclass(frozen=True, kw_only=True)
class PageDraft:
    """A draft with the policy it quotes."""

    draft: RecordRow
    owner: Person
    rule: PolicyRow
    variant: Variant
    ground: RefusalGround | None
    published: RecordRow | None
    """The published page of the same title, where there is one."""
    readers: int
    revision: int

    @property
    def quoted(self) -> dict[str, int]:
        """The value that the page must quote."""
        return {**self.rule.parameters, "policy_version": self.rule.version}


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return load_texts(__file__)


def add_page(world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> PageDraft:
    """Add the policy that a page quotes, its draft, and the pages that are like it."""
    chapter = stream.choice(texts()["chapter"])
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant = stream.choice(list(Variant))
    owner = stream.choice([one for one in world.staff.active() if not one.roles and one.id != world.agent_id])
    rule = _add_rule(world, stream, chapter, {*kinds, *([Kind.SUPERSEDED_POLICY] if variant.is_outdated else [])})
    readers, revision = stream.integer(*READERS), stream.integer(3, 14)
    draft = _draft(world, stream, chapter["title"], owner, rule, revision, readers)
    draft.fields["classification"] = OTHER_CLASS if ground is RefusalGround.CLASSIFIED else "internal"
    if variant.is_outdated:
        _quote_old_version(world, stream, draft, rule)
    world.datahub.records.append(draft)
    published = None
    if variant.has_predecessor or ground is RefusalGround.OVERTAKEN:
        older = revision - stream.integer(1, 2)
        number = revision + stream.integer(0, 2) if ground is RefusalGround.OVERTAKEN else older
        published = _add_published(world, stream, draft, number)
    if Kind.SIMILAR_NAMES in kinds:
        _add_namesake(world, stream, draft)
    return PageDraft(
        draft=draft,
        owner=owner,
        rule=rule,
        variant=variant,
        ground=ground,
        published=published,
        readers=readers,
        revision=revision,
    )


def _add_rule(world: WorldBuilder, stream: Stream, chapter: Mapping[str, Any], kinds: Collection[Kind]) -> PolicyRow:
    def draw(own: Stream) -> PolicyParameters:
        return {name: own.integer(low, high) for name, (low, high) in chapter["figures"].items()}

    number = stream.integer(60, 99)
    world.free_policy_id, kept = f"POL-{number:03d}", world.free_policy_id
    in_force = draw(stream)
    rule = add_policy_versions(
        world,
        stream,
        titles=[chapter["policy"]],
        topic=chapter["policy"].lower().replace(" ", "-"),
        body=lambda _figures: str(chapter["body"]),
        in_force=in_force,
        superseded=lambda own: {name: value + own.integer(1, 3) for name, value in in_force.items()},
        kinds=kinds,
    )
    world.free_policy_id = kept
    return rule


def _draft(
    world: WorldBuilder, stream: Stream, title: str, owner: Person, rule: PolicyRow, revision: int, readers: int
) -> RecordRow:
    filed_at = draw_office_time(stream, working_days_from(world.today, -stream.integer(3, 25)))
    return RecordRow(
        id=world.ids.take("DOC"),
        kind="document",
        title=title,
        state="draft",
        owner_id=owner.id,
        vendor_id=None,
        amount_cents=None,
        currency=None,
        starts_on=None,
        ends_on=None,
        fields={
            "document_type": "handbook",
            "revision": revision,
            "policy_ref": rule.policy_id,
            "policy_version": rule.version,
            "readers": readers,
            **rule.parameters,
        },
        created_at=filed_at,
        updated_at=filed_at,
    )


def _quote_old_version(world: WorldBuilder, stream: Stream, draft: RecordRow, rule: PolicyRow) -> None:
    """Let the draft quote an earlier version of the policy."""
    earlier = [row for row in world.datahub.policies if row.policy_id == rule.policy_id and row.version < rule.version]
    quoted = stream.choice(earlier)
    draft.fields |= {**quoted.parameters, "policy_version": quoted.version}


def _add_published(world: WorldBuilder, stream: Stream, draft: RecordRow, revision: int) -> RecordRow:
    published_on = working_days_from(world.today, -stream.integer(30, 200))
    filed_at = draw_office_time(stream, working_days_from(published_on, -stream.integer(1, 20)))
    published_at = draw_office_time(stream, published_on)
    fields = {**draft.fields, "revision": revision, "published_on": published_on.isoformat()}
    published = replace(
        draft,
        id=world.ids.take("DOC"),
        state="published",
        fields={**fields, "classification": "internal"},
        version=2,
        created_at=filed_at,
        updated_at=published_at,
    )
    world.datahub.records.append(published)
    return published


def _add_namesake(world: WorldBuilder, stream: Stream, draft: RecordRow) -> None:
    """Add a draft of the same title and another revision that somebody else has filed."""
    others = [one for one in world.staff.active() if one.id != draft.owner_id and not one.roles]
    fields = {**draft.fields, "revision": draft.fields["revision"] + stream.integer(1, 3)}
    other = replace(draft, id=world.ids.take("DOC"), owner_id=stream.choice(others).id, fields=fields)
    world.datahub.records.append(other)
