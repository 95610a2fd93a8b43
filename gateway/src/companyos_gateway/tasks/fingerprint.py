"""Fingerprint of an instance: one digest of everything that an agent can observe."""

from __future__ import annotations

from companyos_gateway.scenarios import Instance
from companyos_shared.streams import digest

_DRAW_SEED = "draw_seed"
"""The seed of the services' own draws. It is excluded: it is hidden, and differs between otherwise equal instances."""


def fingerprint(instance: Instance) -> str:
    """Return the canonical hash of an instance's brief and of the initial rows of its services."""
    documents = {
        service: {name: part for name, part in document.items() if name != _DRAW_SEED}
        for service, document in instance.documents.items()
    }
    return digest({"brief": instance.brief, "documents": documents})
