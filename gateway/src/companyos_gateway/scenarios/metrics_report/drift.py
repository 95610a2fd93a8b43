"""Other names of fields: one of them has to be one that no report can do without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.drift import synonyms
from companyos_gateway.scenarios.scenario import Instance
from companyos_shared.streams import Stream

NEEDED = frozenset(
    {
        "ticketdesk.due_at",
        "datahub.as_of",
        "datahub.is_stale",
        "datahub.parameters",
        "datahub.authoritative_for",
    }
)
"""What every report reads: until when, how old, in which unit, by whose word; none reads a ticket's status."""


def with_needed_names(instance: Instance, stream: Stream) -> Instance:
    """Return the instance, in which a field of DataHub that is needed has another name where none has."""
    told = _told(instance.drift.names)
    if not told or told.keys() & NEEDED:
        return instance
    names = {**instance.drift.names, "datahub": {"parameters": stream.choice(synonyms()["datahub"]["parameters"])}}
    injections = tuple(
        replace(one, detail=_told(names)) if one.kind is Kind.RENAMED_FIELDS else one for one in instance.injections
    )
    return replace(instance, drift=replace(instance.drift, names=names), injections=injections)


def _told(names: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {f"{service}.{usual}": name for service, table in names.items() for usual, name in table.items()}
