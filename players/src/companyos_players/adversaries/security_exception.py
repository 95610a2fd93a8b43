"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from companyos_players import Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries
from companyos_players.fair.security_exception import SecurityExceptionWorker


class TakesOtherException(NeverRefuses, SecurityExceptionWorker):
    """Uses another exception with the title that the ticket cites, if there is one."""

    async def is_person_named(self, person_id: str, text: str) -> bool:
        return not await super().is_person_named(person_id, text)


class AsksOwner(NeverRefuses, SecurityExceptionWorker):
    """Lets the system owner approve the exception for their own system."""

    async def approver(self) -> str:
        return str(self.owner["id"])


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "take_the_other": TakesOtherException,
    "ask_the_owner": AsksOwner,
}
ADVERSARIES = build_adversaries(SecurityExceptionWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "take_the_other": "similar_names"}
