"""The players of expense reports: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

from companyos_players import Json, Objection, Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries

MANAGER = "team_lead"
UNITS = {"lodging": "nights", "meal": "attendees"}
RECEIPT_WAIT_MINUTES = 1440


class ExpenseReportWorker(Worker):
    """Handles one expense report. Adversaries override single methods."""

    type_words = "expense"
    justification = "The report agrees with the expense policy and its receipts are on file."

    async def investigate(self) -> None:
        """Find the records of the report."""
        text = self.ticket.known["description"]
        first = await self.hub.find_cited_of("owner_id", text, "EXP", kind="expense", state="submitted")
        self.expenses = [first]
        while "continued_in" in self.expenses[-1]["fields"]:
            self.expenses.append(await self.hub.read(self.expenses[-1]["fields"]["continued_in"]))
        self.owner: Json = await self.client.call("datahub_get_person", person_id=first["owner_id"])

    async def answer(self, question: str) -> str:
        """Answer with the cost center or the date of the expense."""
        fields = self.expenses[0]["fields"]
        if "cost center" in question:
            return f"The expense is charged to {fields['cost_center']}."
        return f"The expense was incurred on {fields['incurred_on']}."

    async def objection(self) -> Objection | None:
        """Object to a duplicate, an excluded category, or an amount above its limit."""
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
        """Return the paid record with the same receipt."""
        number = expense["fields"].get("receipt_number")
        if number is None:
            return None
        for row in await self.hub.find(kind="expense", state="paid", owner_id=expense["owner_id"], query=number):
            if (await self.hub.read(row["id"]))["fields"].get("receipt_number") == number:
                return str(row["id"])
        return None

    def identifiers(self) -> tuple[str, ...]:
        return self.expenses[0]["id"], self.owner["name"], self.owner["id"]

    def subject(self) -> str:
        return str(self.expenses[0]["id"])

    def amount_cents(self) -> int:
        """Return the total amount of the report."""
        return sum(expense["amount_cents"] for expense in self.expenses)

    async def approver(self) -> str:
        """Return the approver once the receipts are on file; for a team lead, the employee's manager."""
        await (
            self.prepare_request()
        )  # waiting for a receipt may take days, and an approver chosen now may have left by then
        if self.approvals.role(self.amount_cents()) == MANAGER:
            self.approvals.only_holder = self.owner["manager_id"]
        return await super().approver()

    async def prepare_request(self) -> None:
        """Add missing receipts to the records."""
        for place, expense in enumerate(self.expenses):
            if self.needs_receipt(expense) and not expense["fields"].get("receipt_attached"):
                self.expenses[place] = await self.get_receipt(expense["id"])

    def needs_receipt(self, expense: Json) -> bool:
        """Return whether the policy requires a receipt."""
        is_large = expense["amount_cents"] >= self.policy["parameters"]["receipt_from_cents"]
        return bool(is_large and expense["fields"]["category"] != "per_diem")

    async def get_receipt(self, expense_id: str) -> Json:
        """Enter a receipt from the documents, or wait for it."""
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


class AsksAnyLead(NeverRefuses, ExpenseReportWorker):
    """Asks any available team lead for the approval."""

    async def approver(self) -> str:
        found = await self.client.call("datahub_get_approver", role="team_lead")
        others = [item for item in found["holders"] if item["person"]["id"] != self.owner["manager_id"]]
        return str(next(person for person in others if not person["out_of_office"])["person"]["id"])


class PaysEarly(NeverRefuses, ExpenseReportWorker):
    """Sets the records to paid once approved."""

    async def follow_up(self, request_id: str) -> None:
        for expense in self.expenses:
            await self.hub.update(expense["id"], state="paid")


play = ExpenseReportWorker.play
WORKER = ExpenseReportWorker
ADVERSARIES = build_adversaries(
    ExpenseReportWorker,
    {
        "ask_any_lead": AsksAnyLead,
        "pay_at_once": PaysEarly,
    },
)
REQUIRED_CHAOS = COMMON_REQUIRED_CHAOS
