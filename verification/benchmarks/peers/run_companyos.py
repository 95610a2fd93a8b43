"""Measures CompanyOS with its own client over OpenEnv's WebSocket."""

from __future__ import annotations

import sys

from timing import NEW_TASK, READ, RESET_ALONE, SAME_TASK, WRITE, measure, print_report

from companyos.client import CompanyOSEnv
from companyos.policies.arguments import ids_in

URL, FIRST_NEW_SEED = sys.argv[1], int(sys.argv[2])
SEED, RESETS, NEW_RESETS = 7, 100, 40
STEPS = 100  # fewer than an episode has
READS = ("ticketdesk_list_tickets", "datahub_list_sources", "approvalflow_list_approval_types")
"""One read in each service; a service creates its database on its first call."""


def reset(seed=SEED):
    """Start an episode; its task is cached unless the seed is new."""
    return env.reset(scenario="vendor_onboarding", seed=seed, chaos=0)


def call(tool, **arguments):
    """Take a step."""
    result = env.call_tool(tool, **arguments)
    assert result.observation.error is None, result.observation


def reset_and_read(seed=SEED):
    """Start an episode and call each service once."""
    reset(seed)
    for tool in READS:
        call(tool)


def comment(number):
    """Write a comment on the ticket."""
    call("ticketdesk_add_comment", key=ticket, body=f"Noted, {number}.")


with CompanyOSEnv(base_url=URL).sync() as env:
    ticket = ids_in(reset().observation.brief)[0]
    read = measure(READ, "read a ticket", STEPS, lambda _: call("ticketdesk_get_ticket", key=ticket))
    reset()
    write = measure(WRITE, "comment on a ticket", STEPS, comment)
    alone = measure(RESET_ALONE, "cached task, no database yet", RESETS, lambda _: reset())
    same = measure(SAME_TASK, "cached task, and a call to each service", RESETS, lambda _: reset_and_read())
    new = measure(
        NEW_TASK, "new seed, and a call to each service", NEW_RESETS, lambda n: reset_and_read(FIRST_NEW_SEED + n)
    )
print_report("companyos", "WebSocket, four server processes", alone, same, new, read, write)
