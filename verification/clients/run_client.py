"""Plays with a third-party client in its own environment: `python run_client.py CLIENT URL EPISODE`.

Each client lists the tools and makes three calls. The last line is its report: the client's version, and the number of
tools and of steps left, as the client saw them.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from importlib.metadata import version

CALLS = (("ticketdesk_list_tickets", {"limit": 1}), ("datahub_list_sources", {}), ("wait", {"minutes": 5}))
SEED = 3


def mcp_server(url, episode):
    """Return the address of the MCP server and the header with the episode id."""
    return f"{url}/v1/mcp", {"X-CompanyOS-Episode": episode}


def steps_left(text):
    """Return the remaining steps from a response."""
    return json.loads(text)["steps_left"]


async def fastmcp(url, episode):
    """FastMCP's client."""
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport

    address, headers = mcp_server(url, episode)
    async with Client(StreamableHttpTransport(address, headers=headers)) as client:
        tools = await client.list_tools()
        for name, arguments in CALLS:
            left = (await client.call_tool(name, arguments)).structured_content["steps_left"]
    return "fastmcp", len(tools), left


async def langchain(url, episode):
    """LangChain tools from langchain-mcp-adapters, as LangChain and LangGraph agents use them."""
    from langchain_mcp_adapters.client import MultiServerMCPClient

    address, headers = mcp_server(url, episode)
    client = MultiServerMCPClient({"companyos": {"transport": "streamable_http", "url": address, "headers": headers}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    for name, arguments in CALLS:
        message = await tools[name].ainvoke({"type": "tool_call", "id": name, "name": name, "args": arguments})
        left = steps_left(message.content[0]["text"])
    return "langchain-mcp-adapters", len(tools), left


async def openai_agents(url, episode):
    """The function tools that OpenAI Agents creates for an MCP server."""
    from agents.mcp import MCPServerStreamableHttp

    address, headers = mcp_server(url, episode)
    async with MCPServerStreamableHttp({"url": address, "headers": headers}) as client:
        tools = await client.list_tools()
        for name, arguments in CALLS:
            left = steps_left((await client.call_tool(name, arguments)).content[0].text)
    return "openai-agents", len(tools), left


async def pydantic_ai(url, episode):
    """Pydantic AI's MCP toolset."""
    from pydantic_ai.mcp import MCPToolset

    address, headers = mcp_server(url, episode)
    async with MCPToolset(address, headers=headers) as toolset:
        tools = await toolset.list_tools()
        for name, arguments in CALLS:
            left = (await toolset.direct_call_tool(name, arguments))["steps_left"]
    return "pydantic-ai-slim", len(tools), left


def smolagents(url, episode):
    """The tools that smolagents creates for an MCP server."""
    from smolagents import ToolCollection

    address, headers = mcp_server(url, episode)
    parameters = {"transport": "streamable-http", "url": address, "headers": headers}
    with ToolCollection.from_mcp(parameters, trust_remote_code=True, structured_output=False) as collection:
        tools = {tool.name: tool for tool in collection.tools}
        for name, arguments in CALLS:
            left = steps_left(tools[name](**arguments))
    return "smolagents", len(tools), left


async def generic_env_client(url, episode):
    """OpenEnv's GenericEnvClient, which has no code for this environment."""
    from openenv.core.generic_client import GenericEnvClient

    async with GenericEnvClient(base_url=url) as env:
        await env.reset(seed=SEED, episode_id=episode)
        listed = await env.step({"type": "list_tools"})
        for name, arguments in CALLS:
            result = await env.step({"type": "call_tool", "tool_name": name, "arguments": arguments})
    return "openenv", len(listed.observation["tools"]), result.observation["steps_left"]


async def mcp_tool_client(url, episode):
    """OpenEnv's MCPToolClient."""
    from openenv.core.mcp_client import MCPToolClient

    async with MCPToolClient(base_url=url) as env:
        first = await env.reset(seed=SEED, episode_id=episode)
        tools = await env.list_tools()
        for name, arguments in CALLS:
            await env.call_tool(name, **arguments)
        state = await env.state()
    return "openenv", len(tools), first.observation.steps_left - state.step_count


def auto_env(url, episode):
    """OpenEnv's AutoEnv and AutoAction, which find the client by the environment's name."""
    from openenv import AutoAction, AutoEnv

    action = AutoAction.from_env("companyos")
    with AutoEnv.from_env("companyos", base_url=url).sync() as env:
        env.reset(seed=SEED, episode_id=episode)
        tools = env.list_tools()
        for name, arguments in CALLS:
            left = env.step(action(tool_name=name, arguments=arguments)).observation.steps_left
    return "openenv", len(tools), left


if __name__ == "__main__":
    client, *arguments = sys.argv[1:]
    played = globals()[client](*arguments)
    distribution, tools, left = asyncio.run(played) if inspect.isawaitable(played) else played
    print(json.dumps({"version": version(distribution), "tools": tools, "steps_left": left}))
