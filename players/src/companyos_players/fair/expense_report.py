"""The fair oracle: sees to an expense report from brief, tools and answers alone."""

from __future__ import annotations

import re
from typing import Any

from companyos.policies import Call, TaskView
from companyos_players import Objection, RecordSkill, ToolClient, Worker

MANAGER = "team_lead"
UNITS = {"lodging": "nights", "meal": "attendees"}
RECEIPT_WAIT_MINUTES = 1440

Json = dict[str, Any]


async def play(task: TaskView, call: Call) -> None:
    """Have the report repaid that the brief is about, or refuse it where the policy says so."""
    await ExpenseReportWorker(task, ToolClient(call)).work()


class ExpenseReportWorker(Worker):
    """One expense report; each part is a method, so that a cheat can leave one out."""

    type_words = "expense"
    justification = "The report agrees with the expense policy and its receipts are on file."

    async def investigate(self) -> None:
        """Find the records of the report."""
        self.hub = RecordSkill(self.client)
        first = await self.find_expense()
        self.expenses = [first]
        while "continued_in" in self.expenses[-1]["fields"]:
            self.expenses.append(await self.hub.read(self.expenses[-1]["fields"]["continued_in"]))
        self.owner: Json = await self.client.call("datahub_get_person", person_id=first["owner_id"])

    async def find_expense(self) -> Json:
        """Return the record that the ticket cites by its id, or by its title and who has filed it."""
        text = self.ticket.known["description"]
        cited = re.search(r"\bEXP-[0-9]+\b", text)
        if cited:
            return await self.hub.read(cited[0])
        number, title = re.search(r"\bE-[0-9]+\b", text), re.search(r'"([^"]+)"', text)
        assert title is not None, "no expense is cited"
        owner = {"owner_id": number[0]} if number else {}
        for row in await self.hub.find(query=title[1], kind="expense", state="submitted", **owner):
            if row["title"] == title[1] and (number or await self.is_named(row["owner_id"], text)):
                return await self.hub.read(row["id"])
        raise LookupError(f"no expense is cited in {text!r}")

    async def is_named(self, person_id: str, text: str) -> bool:
        """Say whether the text names the person."""
        person = await self.client.call("datahub_get_person", person_id=person_id)
        return person["name"] in text

    async def objection(self) -> Objection | None:
        """Object to what was paid before, is never repaid, or lies above its limit."""
        policy, figures = self.policy["policy_id"], self.policy["parameters"]
        for expense in self.expenses:
            paid = await self.paid_before(expense)
            if paid is not None:
                return Objection("duplicate", paid, "This was paid before.")
            fields = expense["fields"]
            if fields["category"] in figures["not_repaid"].split(", "):
                return Objection("not_entitled", policy, "This is never repaid.")
            units = fields.get(UNITS.get(fields["category"], ""))
            if units and expense["amount_cents"] > units * figures[f"{fields['category']}_limit_cents"]:
                return Objection("policy_violation", policy, "The amount is above the limit.")
        return None

    async def paid_before(self, expense: Json) -> str | None:
        """Return the record under which the same receipt was paid already."""
        number = expense["fields"].get("receipt_number")
        if number is None:
            return None
        for row in await self.hub.find(kind="expense", state="paid", owner_id=expense["owner_id"], query=number):
            if (await self.hub.read(row["id"]))["fields"].get("receipt_number") == number:
                return str(row["id"])
        return None

    def identifiers(self) -> tuple[str, ...]:
        """Return what a text about this report names."""
        return self.expenses[0]["id"], self.owner["name"], self.owner["id"]

    def priority(self) -> str:
        """Return the priority that the policy's figures ask for."""
        return self.level(self.amount_cents())

    def subject(self) -> str:
        """Return the first record."""
        return str(self.expenses[0]["id"])

    def amount_cents(self) -> int:
        """Return the amount of the whole report."""
        return sum(expense["amount_cents"] for expense in self.expenses)

    async def approver(self) -> str:
        """Return who may decide once the receipts are there; where a team lead does, that is the employee's manager."""
        await self.prepare_request()  # a receipt may take days, in which whoever decides today has left
        if self.approvals.role(self.amount_cents()) == MANAGER:
            self.approvals.only_holder = self.owner["manager_id"]
        return await super().approver()

    async def prepare_request(self) -> None:
        """Get missing receipts onto the records."""
        for place, expense in enumerate(self.expenses):
            if self.needs_receipt(expense) and not expense["fields"].get("receipt_attached"):
                self.expenses[place] = await self.get_receipt(expense["id"])

    def needs_receipt(self, expense: Json) -> bool:
        """Say whether the policy asks for a receipt."""
        is_large = expense["amount_cents"] >= self.policy["parameters"]["receipt_from_cents"]
        return bool(is_large and expense["fields"]["category"] != "per_diem")

    async def get_receipt(self, expense_id: str) -> Json:
        """Enter a receipt that lies among the documents, or wait for it."""
        for row in await self.hub.find(kind="document", query=expense_id):
            document = await self.hub.read(row["id"])
            if document["fields"].get("expense_id") == expense_id:
                total = document["fields"]["total_cents"]
                filed = {"receipt_attached": True, "receipt_total_cents": total}
                await self.hub.update(expense_id, fields=filed)
                return await self.hub.read(expense_id)
        while not (expense := await self.hub.read(expense_id))["fields"].get("receipt_attached"):
            await self.client.wait(RECEIPT_WAIT_MINUTES)
        return expense

    def fields(self) -> Json:
        """Return the fields that the approval type asks for."""
        return {
            "expense_id": self.subject(),
            "amount_cents": self.amount_cents(),
            "has_receipts": all(bool(expense["fields"].get("receipt_attached")) for expense in self.expenses),
            "records": len(self.expenses),
        }

    async def follow_up(self, request_id: str) -> None:
        """Set each record to approved."""
        for expense in self.expenses:
            await self.hub.update(expense["id"], state="approved")


WORKER = ExpenseReportWorker
"""The worker that ablations and adversaries are derived from."""
