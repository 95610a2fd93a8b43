"""Getting something approved: finding who may decide today, asking, answering, waiting for the word."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from companyos_gateway.scenarios.skills.hands import Hands

Json = dict[str, Any]

WAIT_MINUTES = 1440
ANSWER = "Nobody on file covers this need; the department has planned it and follows up on any open papers."


class ApprovalSkill:
    """Works with one approval type."""

    def __init__(self, hands: Hands, approval_type: Json, *, own_id: str) -> None:
        self.hands = hands
        self.type = approval_type
        self.own_id = own_id
        self.only_holder: str | None = None
        """The one holder who is meant, where the policy names one."""
        self.barred: set[str] = set()
        """Who must not decide, whatever they hold."""

    async def approver(self, amount_cents: int) -> str:
        """Return who may decide about the amount today: a holder of the role, or who stands in for one."""
        holders = await self.holders(amount_cents)
        for holder in holders:
            if not holder["out_of_office"]:
                return str(holder["person"]["id"])
        for holder in holders:
            for person_id in await self._stand_ins(holder["person"]["id"], amount_cents):
                if await self._is_at_work(person_id):
                    return person_id
        raise LookupError("nobody may decide today")

    async def holders(self, amount_cents: int) -> list[Json]:
        """Return who holds the role that decides about the amount."""
        role = self.role(amount_cents)
        holders: list[Json] = (await self.hands.ask("datahub_get_approver", role=role))["holders"]
        meant = [one for one in holders if self.only_holder in (None, one["person"]["id"])]
        return [one for one in meant if one["person"]["id"] not in self.barred]

    def role(self, amount_cents: int) -> str:
        """Return the role that decides about the amount."""
        limits = self.type["thresholds"]
        return next(
            str(one["role"]) for one in limits if one["up_to_cents"] is None or amount_cents <= one["up_to_cents"]
        )

    async def submit(self, subject: str, approver_id: str, fields: Json, justification: str, **more: str) -> str:
        """Put a request to a person and return its id."""
        request = await self.hands.make(
            "approvalflow_submit_approval",
            type_key=self.type["key"],
            subject=subject,
            approver_id=approver_id,
            fields=fields,
            justification=justification,
            **more,
        )
        return str(request["id"])

    async def decision(self, request_id: str, *, withdraws: bool = False) -> str:
        """Wait for the final word on a request, answering questions on the way.

        Where it `withdraws`, a request that waits for somebody who has left is taken back.
        """
        while True:
            await self.hands.wait(WAIT_MINUTES)
            request = await self.hands.ask("approvalflow_get_approval", request_id=request_id)
            status = str(request["status"])
            if status == "info_requested":
                await self._answer(request)
            elif status not in ("pending", "escalated"):
                return status
            elif withdraws and await self.has_left(str(request["approver_id"])):
                await self.withdraw(request_id)
                return "withdrawn"

    async def has_left(self, approver_id: str) -> bool:
        """Say whether the person who was asked is not there any more."""
        person = await self.hands.ask("datahub_get_person", person_id=approver_id)
        return bool(person["out_of_office"] or not person["is_employed"])

    async def withdraw(self, request_id: str) -> None:
        """Take back a request."""

        async def is_withdrawn() -> bool:
            now = await self.hands.ask("approvalflow_get_approval", request_id=request_id)
            return bool(now["status"] == "withdrawn")

        await self.hands.change("approvalflow_withdraw_approval", is_withdrawn, request_id=request_id)

    async def _answer(self, request: Json) -> None:
        async def is_answered() -> bool:
            now = await self.hands.ask("approvalflow_get_approval", request_id=request["id"])
            return bool(now["status"] != "info_requested")

        words = f"{request['justification']} {ANSWER}"
        tool = "approvalflow_provide_information"
        await self.hands.change(tool, is_answered, request_id=request["id"], justification=words)

    async def _stand_ins(self, holder_id: str, amount_cents: int) -> list[str]:
        rows = await self.hands.pages("approvalflow_list_delegations", from_id=holder_id)
        return [row["to_id"] for row in rows if self._carries(row, amount_cents)]

    def _carries(self, delegation: Json, amount_cents: int) -> bool:
        starts_at, ends_at = (datetime.fromisoformat(delegation[name]) for name in ("starts_at", "ends_at"))
        in_force = starts_at <= self.hands.now() < ends_at and delegation["revoked_at"] is None
        in_scope = not delegation["type_keys"] or self.type["key"] in delegation["type_keys"]
        limit = delegation["limit_cents"]
        return in_force and in_scope and (limit is None or amount_cents <= limit)

    async def _is_at_work(self, person_id: str) -> bool:
        person = await self.hands.ask("datahub_get_person", person_id=person_id)
        return person_id not in self.barred | {self.own_id} and person["is_employed"] and not person["out_of_office"]
