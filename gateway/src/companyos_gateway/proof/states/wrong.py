"""All wrong ends of a task: what was recorded of a right one, bent in one place."""

from __future__ import annotations

from companyos_gateway.proof.playing import Kept
from companyos_gateway.proof.states.bends import Bends, Way
from companyos_gateway.proof.states.elsewhere import left_alone_bends, record_bends
from companyos_gateway.proof.states.paths import declaration_bends, path_bends
from companyos_gateway.proof.states.requests import delegation_bends, request_bends, settled_bends
from companyos_gateway.proof.states.tickets import ticket_bends


def wrong_bends(kept: Kept, foreign: Kept) -> Bends:
    """Yield every bend that must be rejected, by its name; `foreign` is the end of another seed."""
    way = Way(kept)
    yield from ticket_bends(way)
    yield from request_bends(way)
    yield from settled_bends(way)
    yield from delegation_bends(way)
    yield from record_bends(way)
    yield from left_alone_bends(way)
    yield from path_bends(way, foreign)
    yield from declaration_bends(way)
