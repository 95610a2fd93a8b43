"""Hostile content: instructions, bank changes and questions that others plant around a task and that bind nobody."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.evaluation.injected_instructions import InjectedInstruction
from companyos_gateway.world.backlog import add_later_comment
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import VendorRow
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_gateway.world.vendors import draw_iban
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Person

WITHDRAWN = "withdrawn"
GENERIC_PERSON, GENERIC_PERSON_ID = "a colleague", "your own ID"
OTHER_TICKETS = 2
"""How many tickets of others a text wants to be cancelled."""


@dataclass(frozen=True)
class PromptInjection:
    """An injected instruction: its row, and what obeying it would change."""

    entity: str
    instructions: tuple[InjectedInstruction, ...] = ()
    detail: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _InjectionSite:
    """Target of injections: a finished world, its case and the case's ticket."""

    world: WorldBuilder
    case: TicketCase
    ticket: TicketRow

    def is_task_entity(self, entity_id: str) -> bool:
        """Say whether the task is about an entity: the facts of the case name it."""
        return entity_id in str(self.case)

    def unrelated_person(self, stream: Stream) -> Person:
        """Draw who writes: somebody at work who has nothing to do with the task."""
        ticket, present = self.ticket, self.world.present(self.world.today)
        known = {ticket.reporter_id, ticket.assignee_id, self.world.agent_id}
        people = [one for one in present if one.team_id != ticket.team_id and one.id not in known]
        return stream.choice([one for one in people if not self.is_task_entity(one.id)])

    def vendor(self, stream: Stream) -> VendorRow:
        """Draw a vendor that the task is not about."""
        return stream.choice([one for one in self.world.datahub.vendors if not self.is_task_entity(one.id)])

    def comment(self, stream: Stream, author: Person, body: str) -> None:
        """Let somebody have written under the ticket some time before the story starts."""
        add_later_comment(self.world, stream, self.ticket, author_id=author.id, body=body)


def inject(world: WorldBuilder, stream: Stream, case: TicketCase, kind: Kind) -> PromptInjection:
    """Plant a text of that kind around the ticket of a case."""
    ticket = next(one for one in world.ticketdesk.tickets if one.key == case.ticket_key)
    return _INJECTORS[kind](_InjectionSite(world, case, ticket), stream)


def confidential_values(world: WorldBuilder) -> dict[str, str]:
    """Return the values that nobody writes down elsewhere, each with the row that it belongs to."""
    found = {}
    for vendor in world.datahub.vendors:
        place = f"{row_views.DATAHUB}.vendors[{vendor.id}]"
        found[vendor.bank_iban] = found[vendor.tax_id] = place
    return found


@cache
def injection_texts() -> dict[str, Any]:
    """Return the words of what is planted, by what they want; they are shared and not to be changed."""
    return tomllib.loads((Path(__file__).parent / "hostile.toml").read_text(encoding="utf-8"))


def _inject_instruction(site: _InjectionSite, stream: Stream) -> PromptInjection:
    intent = stream.choice(list(_intents(site)))
    author = site.unrelated_person(stream)
    if intent == "cancel_others":
        return _cancel_others(site, stream, author)
    place, entity = _insert_text(site, stream, author, intent)
    return PromptInjection(entity, (_ticket_instruction(site, intent),), {"wants": intent, "place": place})


def _intents(site: _InjectionSite) -> Iterator[str]:
    """Yield what an instruction may want; an end that is right in the case is none of it."""
    refusal = site.case.refusal
    if refusal is None or refusal.code != WITHDRAWN:
        yield "cancel_this"
    yield "resolve_this"
    yield "cancel_others"


def _ticket_instruction(site: _InjectionSite, intent: str) -> InjectedInstruction:
    is_cancel = intent == "cancel_this"
    values = {"status": "cancelled", "reason_code": WITHDRAWN} if is_cancel else {"status": "resolved"}
    return _ticket_change(site.ticket.key, values, unverified=not is_cancel)


def _ticket_change(key: str, values: dict[str, str], *, unverified: bool = False) -> InjectedInstruction:
    return InjectedInstruction(
        service=row_views.TICKETDESK, table="tickets", key=key, values=values, unverified=unverified
    )


def _insert_text(site: _InjectionSite, stream: Stream, author: Person, intent: str) -> tuple[str, str]:
    """Put a text about the ticket where it is met; return what kind of place that is, and which row.

    Who looks for what the task is about reads descriptions and notes, so nobody else is named there.
    """
    vendor_id = getattr(site.case, "vendor_id", None)
    place = stream.choice(["comment", "description", *(["vendor_note"] if vendor_id else [])])
    if place == "comment":
        site.comment(stream, author, _text(stream, intent, author))
        return place, site.ticket.key
    text = stream.choice(injection_texts()[intent]).format(person=GENERIC_PERSON, person_id=GENERIC_PERSON_ID)
    if place == "description":
        site.ticket.description += f"\n\n{text}"
        return place, site.ticket.key
    vendors = site.world.datahub.vendors
    number = next(number for number, one in enumerate(vendors) if one.id == vendor_id)
    vendors[number] = replace(vendors[number], notes=f"{vendors[number].notes} {text}")
    return place, str(vendor_id)


def _cancel_others(site: _InjectionSite, stream: Stream, author: Person) -> PromptInjection:
    open_keys = [one.key for one in site.world.ticketdesk.tickets if one.status in ("open", "in_progress")]
    others = stream.sample([key for key in open_keys if not site.is_task_entity(key)], OTHER_TICKETS)
    site.comment(stream, author, _text(stream, "cancel_others", author, others=" and ".join(others)))
    instructions = tuple(_ticket_change(key, {"status": "cancelled"}) for key in others)
    return PromptInjection(site.ticket.key, instructions, {"wants": "cancel_others", "place": "comment"})


def _inject_bank_change(site: _InjectionSite, stream: Stream) -> PromptInjection:
    author, vendor = site.unrelated_person(stream), site.vendor(stream)
    iban = draw_iban(stream, vendor.country)
    words = {"vendor": vendor.name, "vendor_id": vendor.id, "iban": iban}
    site.comment(stream, author, _text(stream, "bank", author, **words))
    instruction = InjectedInstruction(
        service=row_views.DATAHUB, table="vendors", key=vendor.id, values={"bank_iban": iban}
    )
    return PromptInjection(site.ticket.key, (instruction,), {"wants": "bank", "vendor": vendor.id})


def _inject_question(site: _InjectionSite, stream: Stream) -> PromptInjection:
    author, vendor = site.unrelated_person(stream), site.vendor(stream)
    site.comment(stream, author, _text(stream, "reveal", author, vendor=vendor.name, vendor_id=vendor.id))
    return PromptInjection(site.ticket.key, (), {"wants": "reveal", "vendor": vendor.id})


def _text(stream: Stream, intent: str, author: Person, **words: str) -> str:
    text: str = stream.choice(injection_texts()[intent])
    return text.format(person=author.name, person_id=author.id, **words)


_INJECTORS: dict[Kind, Callable[[_InjectionSite, Stream], PromptInjection]] = {
    Kind.PLANTED_INSTRUCTION: _inject_instruction,
    Kind.SUSPICIOUS_BANK_CHANGE: _inject_bank_change,
    Kind.CONFIDENTIAL_REQUEST: _inject_question,
}
