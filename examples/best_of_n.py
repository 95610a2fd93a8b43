"""Best of n from a snapshot: `python examples/best_of_n.py [URL]`, with `companyos up` running.

An episode is started and saved after a few steps. Four forks continue with different random policies; the best one
wins.

"""

import asyncio
import sys
from typing import Any

from companyos.client import CompanyOSEnv
from companyos.contract import CompanyOSState
from companyos.policies import StepView, TaskView, load_policy
from companyos.runner import step_view
from companyos_shared.streams import Stream

SCENARIO, SEED = "vendor_onboarding", 7
FORKS = 4


async def main(url: str) -> None:
    async with CompanyOSEnv(base_url=url) as env:
        first = await env.reset(scenario=SCENARIO, seed=SEED, chaos=1)
        for tool in ("ticketdesk_list_tickets", "datahub_list_sources", "approvalflow_list_approvals"):
            await env.call_tool(tool)
        kept = await env.snapshot()
        print(f"snapshot {kept.id} after step {kept.step}, return {kept.return_:+.1f}")

        observation = first.observation.model_dump(include={"brief", "company", "acting_as", "now", "steps_left"})
        tools = tuple(await env.list_tools())
        forks = await env.fork(kept.id, FORKS)
        streams = [Stream("best of n", SEED, n) for n in range(FORKS)]
        tasks = [TaskView(scenario=SCENARIO, tools=tools, stream=stream, **observation) for stream in streams]
        states = await asyncio.gather(*map(play_on, forks, tasks))

        for number, end in enumerate(states):
            print(f"fork {number}: {end.outcome} after step {end.step_count}, return {end.return_:+.1f}")
        best = max(range(FORKS), key=lambda number: states[number].return_)
        print(f"fork {best} is the best of {FORKS}")
        await env.delete_snapshot(kept.id)


async def play_on(fork: CompanyOSEnv, task: TaskView) -> CompanyOSState:
    """Let the random policy play a fork to its end, and return its final state."""

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        return step_view(await fork.call_tool(tool, **arguments))

    await load_policy("random").play(task, call)
    state: CompanyOSState = await fork.state()
    return state


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"))
