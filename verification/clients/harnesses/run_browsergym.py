"""Plays vendor onboardings in BrowserGym's loop: an agent that reads the accessibility tree and clicks."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import browsergym.core
import gymnasium

URL = sys.argv[1]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "integrations.md"
NOT_RUN = 77
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
A_DAY_MINUTES = 1440
REFRESH_MINUTES = 95
ATTEMPTS, WAITS = 3, 5
TASKS = ((0, 7), (1, 13))
"""Chaos levels and seeds."""


def provide_chromium(folder):
    """Link an installed Chromium to the path of Playwright's own, which BrowserGym's chat also starts."""
    path = os.environ.get("COMPANYOS_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if path is None or not Path(path).is_file():
        print(f"Chromium is required: {path or ', '.join(CHROMIUMS)} was not found", file=sys.stderr)
        sys.exit(NOT_RUN)
    os.environ["PLAYWRIGHT_BROWSERS_PATH"] = folder
    expected = Path(browsergym.core._get_global_playwright().chromium.executable_path)
    expected.parent.mkdir(parents=True)
    expected.symlink_to(path)


class Node:
    """One node of the accessibility tree."""

    def __init__(self, role, name, bid, children):
        self.role, self.name, self.bid, self.children = role, name.rstrip("*"), bid, children

    def walk(self):
        """Return this node and its descendants in reading order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def all(self, *roles):
        """Return the descendants with one of these roles."""
        return [node for node in self.walk() if node.role in roles]

    @property
    def text(self):
        """The text below this node."""
        return " ".join(node.name for node in self.all("StaticText") if node.name).strip()


def parse_tree(observation):
    """Return the root of the observation's accessibility tree."""
    nodes = {node["nodeId"]: node for node in observation["axtree_object"]["nodes"]}

    def build(node):
        children = [build(nodes[child]) for child in node["childIds"] if child in nodes]
        role, name = node["role"]["value"], str(node.get("name", {}).get("value", ""))
        return Node(role, name, node.get("browsergym_id"), children)

    return build(next(iter(nodes.values())))


class Agent:
    """Reads pages and acts with BrowserGym's actions only."""

    def __init__(self, env, seed):
        self.env = env
        self.actions = 0
        self.rewards = 0.0
        self.observation, self.info = env.reset(seed=seed)
        self.is_over = False
        self.page = parse_tree(self.observation)

    def act(self, action):
        """Take an action. BrowserGym limits a click to 500 ms, so wait for a slow page or repeat the click."""
        before = self.page.text
        for _ in range(ATTEMPTS):
            self.step(action)
            error = self.observation["last_action_error"]
            if not error:
                return
            assert error.startswith("TimeoutError"), f"{action} at {self.observation['url']}: {error}"
            for _ in range(WAITS):
                self.step("noop(1000)")
                if self.page.text != before:
                    return
        raise AssertionError(f"{action} at {self.observation['url']} had no effect: {error}")

    def step(self, action):
        """Take one step of BrowserGym."""
        self.observation, reward, terminated, truncated, self.info = self.env.step(action)
        self.actions += 1
        self.rewards += reward
        self.is_over = terminated or truncated
        self.page = parse_tree(self.observation)

    def find(self, name, *roles):
        """Return the first node with a name and one of the roles."""
        found = next((node for node in self.page.all(*roles) if node.name == name), None)
        assert found is not None, f"no {roles} {name!r} on {self.observation['url']}: {self.page.text}"
        return found

    def open(self, *links):
        """Follow links."""
        for link in links:
            self.act(f"click({self.find(link, 'link').bid!r})")

    def press(self, button):
        """Click the button of a form. If it is rejected, for example because the page was stale, submit it again."""
        for _ in range(ATTEMPTS):
            self.act(f"click({self.find(button, 'button').bid!r})")
            if self.is_over or "/-/" not in self.observation["url"]:
                return
        raise AssertionError(f"{button} was rejected: {self.page.text}")

    def fill(self, label, text):
        """Fill in a field."""
        self.act(f"fill({self.find(label, 'textbox', 'combobox', 'spinbutton').bid!r}, {text!r})")

    def select(self, label, start):
        """Choose the first option that starts with a text."""
        listed = self.find(label, "combobox")
        option = next(node.name for node in listed.all("option") if node.name.startswith(start))
        self.act(f"select_option({listed.bid!r}, {option!r})")

    def search(self, words):
        """Filter the list of the page."""
        self.fill("Words", words)
        self.press("Filter")

    def has(self, role, name):
        """Return whether the page has an element."""
        return any(node.name == name for node in self.page.all(role))

    def rows(self):
        """Return the cells of each table row."""
        return [[cell.name or cell.text for cell in row.all("cell", "rowheader")] for row in self.page.all("row")]

    def row(self, pattern):
        """Return the match of the first row with a pattern; the cells are joined with bars."""
        lines = [" | ".join(cells) for cells in self.rows()]
        found = next(filter(None, (re.search(pattern, line) for line in lines)), None)
        assert found is not None, f"no row {pattern!r} on {self.observation['url']}: {lines}"
        return found

    def facts(self):
        """Return the description list of the page as a dictionary."""
        terms = self.page.all("term", "definition")
        return {term.name.lower(): value.text for term, value in zip(terms[::2], terms[1::2], strict=True)}


def read_ticket(agent):
    """Open the ticket of the brief; return its key, its facts and the id that it cites."""
    key = re.search(r"\b[A-Z]{3}-\d+\b", agent.observation["goal"])[0]
    open_ticket(agent, key)
    cited = re.search(r"\b(?:VEN|CTR)-\d+\b", agent.page.text)
    return key, agent.facts(), cited[0]


def open_ticket(agent, key):
    """Search for a ticket and open it."""
    agent.open("TicketDesk")
    agent.search(key)
    agent.open(key)


def read_vendor(agent, cited):
    """Return the vendor's id and risk, and the id and amount of its contract."""
    agent.open("DataHub", "Vendors" if cited.startswith("VEN") else "Records")
    agent.search(cited)
    agent.open(cited)
    if cited.startswith("CTR"):
        agent.open(next(link.name for link in agent.page.all("link") if re.fullmatch(r"VEN-\d+", link.name)))
    vendor = agent.facts()
    agent.open("Records of this vendor")
    contract, amount = agent.row(r"(CTR-\d+) \| [^|]* \| Contract \| [^|]* \| ([\d,.]+) EUR").groups()
    agent.open(contract)
    return vendor["id"], vendor["risk"], contract, number(amount)


def read_score(agent, vendor):
    """Return value and time of the authoritative score, refreshed if it is stale."""
    agent.open("DataHub", "Vendors")
    agent.search(vendor)
    agent.open(vendor)
    metrics = [cells[0] for cells in agent.rows() if len(cells) > 1 and cells[1].endswith("compliance_score")]
    while True:
        agent.open(metrics[0])
        facts = agent.facts()
        if facts["authoritative for this key"] != "Yes":
            metrics.pop(0)
        elif facts["freshness"].startswith("Fresh"):
            return facts["value"], facts["as of"]
        else:
            agent.press("Refresh metric")
            wait(agent, REFRESH_MINUTES)
            agent.open("DataHub", "Vendors")
            agent.search(vendor)
        agent.open(vendor)


def read_policy(agent, amount, risk):
    """Return the minimum score, the ticket's priority, the role that decides, and whether there is a risk field."""
    agent.open("ApprovalFlow", "Approval types", "Vendor onboarding")
    policy = agent.facts()["policy"]
    limit, below, above = number(agent.row(r"^([\d,.]+) \|")[1]), *roles(agent)
    asks_risk = any("risk_tier" in cells[0] for cells in agent.rows() if cells)
    agent.open("DataHub", "Policies")
    agent.open(agent.row(rf"({policy}, version \d+) \| [^|]* \| \d+ \| In force")[1])
    figures = {cells[0].split()[-1]: cells[1] for cells in agent.rows() if len(cells) == 2}
    limits = [number(figures[f"{level}_from_cents"]) for level in ("medium", "high", "critical")]
    is_raised = risk.lower() in figures.get("raised_risk_tiers", "").split(", ")
    level = min(sum(amount >= limit for limit in limits) + is_raised, 3)
    priority = ("Low", "Medium", "High", "Critical")[level]
    return number(figures["minimum_compliance_score"]), priority, below if amount <= limit else above, asks_risk


def roles(agent):
    """Return the role below the limit and the role above it, as the approval type names them."""
    table = next(table for table in agent.page.all("table") if table.name == "Roles by amount")
    cells = [[cell.name for cell in row.all("cell")] for row in table.all("row")]
    return [row[1].rpartition(" ")[0] for row in cells if row]


def find_approver(agent, role, amount):
    """Return the name of the role's holder, or of a person with a delegation that covers the amount."""
    agent.open("DataHub", "Roles")
    holder, today = agent.row(rf"^{role} \| (.*?) E-\d+ \| ([^|]*)").groups()
    if today.startswith("In office"):
        return holder
    agent.open("ApprovalFlow", "Delegations")
    for listed in agent.page.all("listitem"):
        heading = next((node.name for node in listed.all("heading")), "")
        pair = re.fullmatch(r"DEL-\d+: (.*) E-\d+ to (.*) E-\d+", heading)
        if pair is None or pair[1] != holder or "In force" not in listed.text:
            continue
        covers, limit = re.search(r"Covers (.*) Amounts up to (.*?) Created by", with_terms(listed)).groups()
        is_within = limit == "Any amount" or amount <= number(limit)
        if is_within and ("Every type" in covers or "Vendor onboarding" in covers):
            return pair[2]
    raise AssertionError(f"nobody decides for {holder}")


def with_terms(node):
    """Return the text below a node, including the terms of its description lists."""
    return " ".join(one.name for one in node.all("term", "StaticText"))


def prepare_ticket(agent, key, priority):
    """Triage the ticket, set its priority, assign it if it has no assignee, complete its checklist and verify it."""
    open_ticket(agent, key)
    if agent.has("button", "Triage (open)"):
        agent.press("Triage (open)")
    if agent.facts()["priority"] != priority:
        agent.select("Priority", priority)
        agent.press("Save")
    while items := [node.name for node in agent.page.all("button") if node.name.startswith("Complete: ")]:
        agent.press(items[0])
    agent.press("Verify ticket")


def request_approval(agent, fields, approver):
    """Submit the request and wait for the decision; return the id of the request."""
    agent.open("ApprovalFlow", "Submit", "Choose Vendor onboarding")
    for label, text in fields.items():
        if any(node.name == label and node.all("option") for node in agent.page.all("combobox")):
            agent.select(label, text)
        else:
            agent.fill(label, text)
    agent.select("Approver", f"{approver},")
    agent.press("Submit request")
    request = re.search(r"\bAPR-\d+\b", agent.observation["url"])[0]
    for _ in range(5):
        wait(agent, A_DAY_MINUTES)
        agent.open("ApprovalFlow", request)
        if agent.facts()["status"] == "Approved":
            return request
    raise AssertionError(f"{request} was not decided: {agent.facts()}")


def wait(agent, minutes):
    """Wait for some simulated time."""
    agent.open("Desk")
    agent.fill("Minutes", str(minutes))
    agent.press("Wait")


def number(text):
    """Parse a number in the format of the pages."""
    return float(text.replace(",", ""))


def onboard(agent):
    """Onboard the vendor of the brief."""
    key, _, cited = read_ticket(agent)
    vendor, risk, contract, amount = read_vendor(agent, cited)
    minimum, priority, role, asks_risk = read_policy(agent, amount, risk)
    score, as_of = read_score(agent, vendor)
    assert number(score.split()[0]) >= minimum, (score, minimum)
    prepare_ticket(agent, key, priority)
    fields = {
        "Subject": vendor,
        "Justification": "The score is fresh and reaches the minimum of the policy.",
        "Ticket": key,
        "Vendor ID": vendor,
        "Contract ID": contract,
        "Amount": f"{amount:.2f}",
        "Compliance score": score,
        "Score as of": as_of,
    }
    if asks_risk:
        fields["Risk tier"] = risk
    request = request_approval(agent, fields, find_approver(agent, role, amount))
    open_ticket(agent, key)
    if agent.has("button", "In progress"):
        agent.press("In progress")
    agent.fill("Approval request", request)
    agent.press("Link approval")
    agent.press("Resolved")
    if not agent.is_over:
        agent.act(f"send_msg_to_user({f'{key} is done.'!r})")


def play(chaos, seed):
    """Play one task, and return the result of the episode."""
    task = {"task_kwargs": {"chaos": chaos}, "pre_observation_delay": 0.1}
    env = gymnasium.make("browsergym/companyos.vendor_onboarding", **task)
    try:
        started = time.monotonic()
        agent = Agent(env, seed)
        onboard(agent)
        result = agent.info["task_info"]
        spent = time.monotonic() - started
        print(f"chaos {chaos} seed {seed}: {result}, {agent.actions} actions, {spent:.0f} s", file=sys.stderr)
        assert agent.is_over
        assert result["success"], result
        assert abs(agent.rewards - result["return"]) < 1e-9, (agent.rewards, result)
        return result
    finally:
        env.close()


def run_documented_example():
    """Run the example of docs/integrations.md on this server, which ends an episode with a chat message."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (example,) = (block for block in blocks if "register_scenarios()" in block)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example.replace("register_scenarios()", f"register_scenarios({URL!r})"), {})  # noqa: S102
    assert printed.getvalue() == "-5.1 True failed\n", printed.getvalue()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as browsers:
        provide_chromium(browsers)
        run_documented_example()
        results = [play(chaos, seed) for chaos, seed in TASKS]
    steps = sum(result["steps"] for result in results)
    print(json.dumps({"version": version("browsergym-core"), "episodes": len(results) + 1, "steps": steps + 1}))
