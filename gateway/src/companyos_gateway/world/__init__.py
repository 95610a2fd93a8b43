"""A company from a seed: people, teams, calendar, vendors, metrics, policies and a believable backlog.

generate tells the story of how a company comes about; documents holds the typed rows that the services load.
"""

from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.generate import finish_world, generate_world
from companyos_gateway.world.people import Staff

__all__ = ["Staff", "WorldBuilder", "finish_world", "generate_world"]
