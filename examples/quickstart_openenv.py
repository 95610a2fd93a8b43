"""Play a few steps over the WebSocket: `python examples/quickstart_openenv.py [URL]`, with `companyos up` running."""

import asyncio
import sys

from companyos.client import CompanyOSEnv


async def main(url: str) -> None:
    async with CompanyOSEnv(base_url=url) as env:
        first = await env.reset(scenario="vendor_onboarding", seed=7, chaos=1)
        print(first.observation.brief)
        print(len(await env.list_tools()), "tools")

        listed = await env.call_tool("ticketdesk_list_tickets")
        print(listed.observation.now, listed.reward, listed.done)

        finished = await env.call_tool("finish", outcome="done", summary="Looked around.")
        state = await env.state()
        print(finished.done, state.outcome, state.return_)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"))
