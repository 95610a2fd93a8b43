"""`python -m verification.clients [--only NAME] [--lock]`: runs third-party clients and prints one line for each."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import httpx
from pydantic import BaseModel, ConfigDict

from companyos.enterprise import Enterprise
from verification.clients.environments import (
    WORKSPACE,
    NotRunError,
    ScriptFailedError,
    environment_python,
    lock,
    run_script,
)

SCRIPT = Path(__file__).with_name("run_client.py")
CALLS = 3
DEADLINE_S = 120.0
SEED = 3
_LINE = "{:<30} {:<8} {:>5} {:>5}  {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThirdPartyClient:
    """One client: its environment and its function in the script. `resets_episode` marks those that reset it."""

    name: str
    environment: str
    function: str
    resets_episode: bool = False


CLIENTS = (
    ThirdPartyClient(name="fastmcp", environment="fastmcp", function="fastmcp"),
    ThirdPartyClient(name="langchain-mcp-adapters", environment="langchain", function="langchain"),
    ThirdPartyClient(name="openai-agents", environment="openai-agents", function="openai_agents"),
    ThirdPartyClient(name="pydantic-ai", environment="pydantic-ai", function="pydantic_ai"),
    ThirdPartyClient(name="smolagents", environment="smolagents", function="smolagents"),
    *(
        ThirdPartyClient(name=name, environment=environment, function=function, resets_episode=True)
        for name, environment, function in (
            ("openenv GenericEnvClient", WORKSPACE, "generic_env_client"),
            ("openenv MCPToolClient", WORKSPACE, "mcp_tool_client"),
            ("openenv AutoEnv", WORKSPACE, "auto_env"),
            ("openenv 0.4 GenericEnvClient", "openenv-0.4", "generic_env_client"),
        )
    ),
)


class ClientReport(BaseModel):
    """The report of a client: its version, the number of listed tools, and the steps left."""

    model_config = ConfigDict(extra="forbid")

    version: str
    tools: int
    steps_left: int


def main() -> None:
    """Run the clients; the exit status is 1 if a client's report is wrong or none could be installed."""
    parser = argparse.ArgumentParser(prog="python -m verification.clients", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="run only clients whose name contains NAME")
    parser.add_argument("--lock", action="store_true", help="lock the newest versions and exit")
    options = parser.parse_args()
    if options.lock:
        lock()
        return
    outcomes: list[bool] = []
    print(_LINE.format("client", "version", "tools", "steps", ""))
    with Enterprise(alone=True) as enterprise:
        for client in CLIENTS:
            if options.only not in client.name:
                continue
            try:
                report = play(client, environment_python(client.environment), enterprise.url)
                line = _LINE.format(client.name, report.version, report.tools, CALLS, "ok")
                outcomes.append(True)
            except NotRunError as error:
                line = _LINE.format(client.name, "", "", "", f"not run: {error}")
            except ScriptFailedError as error:
                line = _LINE.format(client.name, "", "", "", f"FAILED: {error}")
                outcomes.append(False)
            print(line, flush=True)
    raise SystemExit(int(not outcomes or not all(outcomes)))


def play(client: ThirdPartyClient, python: Path, url: str, script: Path = SCRIPT) -> ClientReport:
    """Run a client in its own episode, and compare its report with the gateway. Raises ScriptFailedError."""
    episode = client.name.replace(" ", "-")
    with httpx.Client(base_url=url, trust_env=False) as http:
        if not client.resets_episode:
            http.post("/reset", json={"seed": SEED, "episode_id": episode}).raise_for_status()
        report = run_script(python, script, client.function, url, episode, report=ClientReport, deadline_s=DEADLINE_S)
        state = http.get("/state", params={"episode_id": episode}).raise_for_status().json()
        offered = len(http.get("/v1/tools", params={"episode_id": episode}).json())
    steps = state["max_steps"] - report.steps_left
    for name, expected, found in (("tools", offered, report.tools), ("steps", state["step_count"], steps)):
        if expected != found:
            raise ScriptFailedError(f"{name}: expected {expected}, client reported {found}")
    if steps != CALLS:
        raise ScriptFailedError(f"{steps} steps of {CALLS}")
    return report


if __name__ == "__main__":
    main()
