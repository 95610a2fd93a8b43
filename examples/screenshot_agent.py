"""Renew a license in the browser: `python examples/screenshot_agent.py [URL]`, with `companyos up` running.

The agent calls no company tools. It reads the page, clicks elements in the screenshot, and types. Each submitted form
is the same step as the tool call. The gateway needs the extra `companyos[browser]`.

"""

import re
import sys
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from companyos.client import CompanyOSEnv, CompanyOSSyncEnv
from companyos.contract import (
    CompanyOSObservation,
    CompanyOSResetObservation,
    CompanyOSState,
    ScreenElement,
    Screenshot,
)

TASK: dict[str, Any] = {"scenario": "license_renewal", "seed": 11, "chaos": 0}
A_DAY_MINUTES = 1440
FIELD = "textbox|combobox|spinbutton"


class BrowserAgent:
    """Browser control: reads the page text and clicks the center of elements."""

    def __init__(self, env: CompanyOSSyncEnv, **task: Any) -> None:
        self.env = env
        first = env.reset(modality="screenshot", **task).observation
        assert isinstance(first, CompanyOSResetObservation)
        self.screen: Screenshot = self._screenshot(first)
        self.free_actions = 0

    @property
    def page(self) -> str:
        """Text of the page as one line, so that patterns match across line breaks."""
        return re.sub(r"\s+", " ", self.screen.snapshot)

    def read(self, pattern: str) -> str:
        """Return the first group of the pattern on the page."""
        return self.read_all(pattern)[0]

    def read_all(self, pattern: str) -> tuple[str, ...]:
        """Return the groups of the pattern on the page."""
        match = re.search(pattern, self.page)
        assert match is not None, f"{pattern!r} is not on {self.screen.address}"
        return match.groups()

    def click(self, role: str, name: str) -> None:
        """Click the first element with this role and name (in any case), scrolling if needed."""
        x, y = self._find(role, name).centre
        self._act("browser_click", x=x, y=y)

    def fill(self, **texts: str) -> None:
        """Fill in fields by label (`_` is a space, in any case); in a list, select the text."""
        for label, text in texts.items():
            self.click(FIELD, label.replace("_", " "))
            self._act("browser_type", text=text, replace=True)

    def options(self, label: str) -> tuple[str, ...]:
        """Return the options of a list."""
        return self._find("combobox", label).options or ()

    def open(self, *links: str) -> None:
        """Follow links; every page links the apps."""
        for link in links:
            self.click("link", link)

    def search(self, *links: str, **texts: str) -> None:
        """Follow links to a list, and search in it."""
        self.open(*links)
        self.fill(**texts)
        self.click("button", "Filter")

    def _find(self, role: str, name: str) -> ScreenElement:
        if (seen := self._visible_element(role, name)) is not None:
            return seen
        self._act("browser_scroll", dy=-self.screen.page_height)
        while (seen := self._visible_element(role, name)) is None:
            before = self.screen.scroll_y
            self._act("browser_scroll", dy=self.screen.viewport.height * 2 // 3)
            assert self.screen.scroll_y > before, f"no {role} {name!r} on {self.screen.address}"
        return seen

    def _visible_element(self, role: str, name: str) -> ScreenElement | None:
        for element in self.screen.elements:
            if re.fullmatch(role, element.role) and element.name.lower() == name.lower():
                return element
        return None

    def _act(self, tool: str, **arguments: Any) -> None:
        answer = self.env.call_tool(tool, **arguments)
        seen = answer.observation
        self.screen = self._screenshot(seen)
        if seen.tool_name == tool:
            self.free_actions += 1
        else:
            print(f"{seen.now:%d %b %H:%M}  {seen.tool_name:<36} {answer.reward:+.2f}")

    def _screenshot(self, seen: CompanyOSResetObservation | CompanyOSObservation) -> Screenshot:
        assert seen.screenshot is not None, "the browser failed"
        return seen.screenshot


@dataclass(frozen=True)
class Renewal:
    """Facts of the renewal and its request."""

    ticket: str
    title: str
    license_id: str
    seats: float
    amount: float
    new_end: date
    days_left: str
    as_of: str
    approver: str


def read_renewal(agent: BrowserAgent) -> Renewal:
    """Read the brief, the ticket, the license, the policy, the metric and the approver."""
    ticket = agent.read(r"\b([A-Z]{3}-\d+)\b")
    open_ticket(agent, ticket)
    title, vendor = agent.read(r'renew \\"(.*?)\\"'), agent.read(r"\b(VEN-\d+)\b")

    agent.search("DataHub", "Records", words=title, kind="License")
    license_id = agent.read(rf"row \"(LIC-\d+) {re.escape(title)} License Expiring [^\n]*{vendor}")
    agent.open(license_id)
    seats, used = number(agent.read(r"row \"Seats (\S+) Integer")), number(agent.read(r"Seats used (\S+) Number"))
    price, term = number(agent.read(r"Price per seat (\S+) Number")), int(agent.read(r"Term days (\d+) Number"))
    ends = datetime.strptime(agent.read(r"Ends - definition: \w+ (\d+ \w+ \d+)"), "%d %b %Y").date()  # noqa: DTZ007

    agent.open(vendor)
    agent.open("DataHub", "Policies")
    agent.open(agent.read(r'row "(POL-\d+, version \d+) [^"\n]* In force Renewals'))
    seats = min(seats, used) if "seats_used" in agent.page else seats
    term = min([term, *map(int, re.findall(r"more than (\d+) days, the new term", agent.page))])

    agent.search("DataHub", key="License days left", subject=license_id)
    days_left, as_of = agent.read_all(r"(\d+) days Fresh (\d+ \w+ \d+, \d+:\d+)")

    agent.open("ApprovalFlow", "Approval types", "License renewal")
    limit, below, above = agent.read_all(r'row "([\d,.]+) ([\w ]+) \w+": .*? row "Any amount ([\w ]+) \w+":')
    agent.open("DataHub", "Roles")
    role = below if seats * price <= number(limit) else above
    return Renewal(
        ticket=ticket,
        title=title,
        license_id=license_id,
        seats=seats,
        amount=seats * price,
        new_end=ends + timedelta(days=term),
        days_left=days_left,
        as_of=as_of,
        approver=agent.read(rf'row "{role} (.*?) E-\d+ In office'),
    )


def request_approval(agent: BrowserAgent, renewal: Renewal) -> str:
    """Prepare the ticket, request the approval, and return its id."""
    open_ticket(agent, renewal.ticket)
    while to_tick := re.findall(r'button "(Complete: .*?)"', agent.screen.snapshot):
        agent.click("button", to_tick[0])
    agent.click("button", "Verify ticket")

    agent.open("ApprovalFlow", "Submit", "Choose License renewal")
    agent.fill(
        subject=renewal.license_id,
        approver=next(option for option in agent.options("Approver") if option.startswith(f"{renewal.approver},")),
        justification="The license is in use, and its end is within the policy's window.",
        ticket=renewal.ticket,
        license_id=renewal.license_id,
        seats=f"{renewal.seats:.0f}",
        amount=f"{renewal.amount:.2f}",
        new_end=renewal.new_end.isoformat(),
        license_days_left=renewal.days_left,
        days_left_as_of=renewal.as_of,
    )
    agent.click("button", "Submit request")
    return agent.read(r"\b(APR-\d+)\b")


def complete_renewal(agent: BrowserAgent, renewal: Renewal, request: str) -> None:
    """Wait for the approval, link it, renew the record and resolve the ticket."""
    agent.open("Desk")
    agent.fill(minutes=str(A_DAY_MINUTES))
    agent.click("button", "Wait")
    open_ticket(agent, renewal.ticket)
    agent.fill(approval_request=request)
    agent.click("button", "Link approval")
    agent.search("DataHub", "Records", words=renewal.title, kind="License")
    agent.open(renewal.license_id)
    agent.fill(state="Renewed", ends=renewal.new_end.isoformat(), seats=f"{renewal.seats:.0f}")
    agent.click("button", "Save")
    open_ticket(agent, renewal.ticket)
    agent.click("button", "Resolved")


def open_ticket(agent: BrowserAgent, ticket: str) -> None:
    """Search a ticket and open it."""
    agent.search("TicketDesk", words=ticket)
    agent.open(ticket)


def number(text: str) -> float:
    """Return a number from its page format."""
    return float(text.replace(",", ""))


def main(url: str) -> CompanyOSState:
    """Play the task, and print the outcome."""
    with CompanyOSEnv(base_url=url).sync() as env:
        agent = BrowserAgent(env, **TASK)
        renewal = read_renewal(agent)
        complete_renewal(agent, renewal, request_approval(agent, renewal))
        state: CompanyOSState = env.state()
        print(f"{state.outcome}, return {state.return_:+.1f}")
        print(f"{state.step_count} steps, {agent.free_actions} free browser actions")
        return state


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")
