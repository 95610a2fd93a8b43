"""Generation of a simulated company from a seed: people, teams, calendar, vendors, metrics, policies and a backlog.

`generate` draws the company; `seed_documents` defines the typed rows that the services load.
"""

from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.generate import finish_world, generate_world

__all__ = ["WorldBuilder", "finish_world", "generate_world"]
