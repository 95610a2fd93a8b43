"""Skills for approvals: find the approver, submit, answer questions, await the decision."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from companyos_players.player import Json
from companyos_players.tool_client import ToolClient

WAIT_MINUTES = 1440
EVIDENCE_MARGIN = timedelta(minutes=120)
"""Evidence this close to its age limit is refreshed before it is used."""

ANSWER = "Nobody on file covers this need; the department has planned it and follows up on any open papers."

Answer = Callable[[str], Awaitable[str]]
"""Returns the answer to an approver's question."""


async def default_answer(_question: str) -> str:
    """Return an answer that states no particular fact."""
    return ANSWER


class ApprovalSkill:
    """Works with one approval type."""

    def __init__(
        self, client: ToolClient, approval_type: Json, *, own_id: str, answer: Answer = default_answer
    ) -> None:
        self.client = client
        self.answer = answer
        self.type = approval_type
        self.own_id = own_id
        self.only_holder: str | None = None
        """The only eligible holder, if the policy names one."""
        self.excluded_ids: set[str] = set()
        """People who must not decide, regardless of their roles."""

    def oldest_evidence(self, margin: timedelta = EVIDENCE_MARGIN) -> datetime:
        """Return the earliest time of measurement that a request may state now, with a margin before the age limit."""
        ages = [spec["max_age_minutes"] for spec in self.type["fields"] if spec["max_age_minutes"]]
        return self.client.now() - timedelta(minutes=min(ages)) + margin

    async def approver(self, amount_cents: int) -> str:
        """Return today's approver for the amount: a role holder or an entitled deputy."""
        holders = await self.holders(amount_cents)
        for holder in holders:
            if not holder["out_of_office"]:
                return str(holder["person"]["id"])
        for holder in holders:
            for person_id in await self._delegates(holder["person"]["id"], amount_cents):
                if await self._is_available(person_id):
                    return person_id
        raise LookupError("No approver is available today")

    async def holders(self, amount_cents: int) -> list[Json]:
        """Return the holders of the role that decides on the amount."""
        role = self.role(amount_cents)
        holders: list[Json] = (await self.client.call("datahub_get_approver", role=role))["holders"]
        meant = [item for item in holders if self.only_holder in (None, item["person"]["id"])]
        return [item for item in meant if item["person"]["id"] not in self.excluded_ids]

    def role(self, amount_cents: int) -> str:
        """Return the role that decides on the amount."""
        limits = self.type["thresholds"]
        return next(
            str(item["role"]) for item in limits if item["up_to_cents"] is None or amount_cents <= item["up_to_cents"]
        )

    async def submit(self, subject: str, approver_id: str, fields: Json, justification: str, **more: str) -> str:
        """Submit a request to a person and return its id."""
        request = await self.client.create(
            "approvalflow_submit_approval",
            type_key=self.type["key"],
            subject=subject,
            approver_id=approver_id,
            fields=fields,
            justification=justification,
            **more,
        )
        return str(request["id"])

    async def await_decision(self, request_id: str, *, withdraws: bool = False) -> str:
        """Await the final decision on a request and answer questions meanwhile.

        With `withdraws`, a request is withdrawn if it is pending with a person who has left the company.
        """
        while True:
            await self.client.wait(WAIT_MINUTES)
            request = await self.client.call("approvalflow_get_approval", request_id=request_id)
            status = str(request["status"])
            if status == "info_requested":
                await self._answer(request)
            elif status not in ("pending", "escalated"):
                return status
            elif withdraws and await self.has_left(str(request["approver_id"])):
                await RequestSkill(self.client).withdraw(request_id)
                return "withdrawn"

    async def has_left(self, approver_id: str) -> bool:
        """Return whether the approver has left the company."""
        person = await self.client.call("datahub_get_person", person_id=approver_id)
        return bool(person["out_of_office"] or not person["is_employed"])

    async def _answer(self, request: Json) -> None:
        async def is_answered() -> bool:
            now = await self.client.call("approvalflow_get_approval", request_id=request["id"])
            return bool(now["status"] != "info_requested")

        questions = [entry["text"] for entry in request["thread"] if entry["kind"] == "question"]
        tool, answer = "approvalflow_provide_information", await self.answer(questions[-1] if questions else "")
        await self.client.update(tool, is_answered, request_id=request["id"], answer=answer)

    async def _delegates(self, holder_id: str, amount_cents: int) -> list[str]:
        rows = await self.client.list_all("approvalflow_list_delegations", from_id=holder_id)
        return [row["to_id"] for row in rows if self._covers(row, amount_cents)]

    def _covers(self, delegation: Json, amount_cents: int) -> bool:
        starts_at, ends_at = (datetime.fromisoformat(delegation[name]) for name in ("starts_at", "ends_at"))
        in_force = starts_at <= self.client.now() < ends_at and delegation["revoked_at"] is None
        in_scope = not delegation["type_keys"] or self.type["key"] in delegation["type_keys"]
        limit = delegation["limit_cents"]
        return in_force and in_scope and (limit is None or amount_cents <= limit)

    async def _is_available(self, person_id: str) -> bool:
        person = await self.client.call("datahub_get_person", person_id=person_id)
        return (
            person_id not in self.excluded_ids | {self.own_id} and person["is_employed"] and not person["out_of_office"]
        )


OPEN = ("pending", "escalated", "info_requested")


class RequestSkill:
    """Works with ApprovalFlow's requests and delegations."""

    def __init__(self, client: ToolClient) -> None:
        self.client = client

    async def read(self, request_id: str) -> Json:
        """Read a request."""
        request: Json = await self.client.call("approvalflow_get_approval", request_id=request_id)
        return request

    async def list_open(self, **filters: str) -> list[Json]:
        """Return the rows of the open requests that match."""
        rows = await self.client.list_all("approvalflow_list_approvals", **filters)
        return [row for row in rows if row["status"] in OPEN]

    async def cancel(self, request_id: str, reason_code: str, reason_ref: str) -> None:
        """Cancel a request for a reason."""
        reason = {"reason_code": reason_code, "reason_ref": reason_ref}
        await self._update("cancel", request_id, "status", "cancelled", **reason)

    async def withdraw(self, request_id: str) -> None:
        """Withdraw one's own request."""
        await self._update("withdraw", request_id, "status", "withdrawn")

    async def escalate(self, request_id: str, approver_id: str, reason: str, reason_ref: str) -> None:
        """Escalate a request to another person."""
        fields = {"approver_id": approver_id, "reason": reason, "reason_ref": reason_ref}
        await self._update("escalate", request_id, "approver_id", approver_id, **fields)

    async def revoke(self, delegation_id: str) -> None:
        """Revoke a delegation."""

        async def is_done() -> bool:
            rows = await self.client.list_all("approvalflow_list_delegations")
            return any(row["id"] == delegation_id and row["revoked_at"] is not None for row in rows)

        await self.client.update("approvalflow_revoke_delegation", is_done, delegation_id=delegation_id)

    async def _update(self, verb: str, request_id: str, member: str, value: str, **arguments: str) -> None:
        """Update a request, after which a member has that value."""

        async def is_done() -> bool:
            return bool((await self.read(request_id))[member] == value)

        await self.client.update(f"approvalflow_{verb}_approval", is_done, request_id=request_id, **arguments)
