"""Measures Meta's Agents Research Environments with one of its scenarios and the tools that its agents call."""

from __future__ import annotations

import logging

from are.simulation.environment import Environment, EnvironmentConfig
from are.simulation.notification_system import VerboseNotificationSystem
from are.simulation.scenarios.scenario_tutorial.scenario import ScenarioTutorial
from are.simulation.tool_utils import AppToolAdapter
from timing import READ, SAME_TASK, WRITE, measure, print_report

RESETS, STEPS = 20, 200
envs = []


def reset():
    """Build the scenario's apps and start the environment's event loop, as ScenarioRunner does."""
    scenario = ScenarioTutorial()
    scenario.initialize()
    envs.append(Environment(config=EnvironmentConfig(), notification_system=VerboseNotificationSystem()))
    envs[-1].run(scenario, wait_for_end=False)


def send(number):
    """Send an email."""
    assert tools["EmailClientApp__send_email"](recipients=["greg@example.com"], content=f"Noted, {number}.")


logging.disable()
same = measure(
    SAME_TASK, "tutorial; Gaia2's scenarios need a download", RESETS, lambda _: reset(), lambda: envs.pop().stop()
)
reset()
tools = {tool.name: AppToolAdapter(tool) for tool in envs[-1].get_tools()}
read = measure(READ, "list contacts", STEPS, lambda _: tools["ContactsApp__get_contacts"]())
write = measure(WRITE, "send an email", STEPS, send)
envs.pop().stop()
print_report("meta-agents-research-environments", "in process", same, read, write)
