"""Scenarios, one folder each. The catalogue consists of these folders; there is no other list."""

from companyos_gateway.scenarios.api import Instance, Scenario
from companyos_gateway.scenarios.catalogue import catalogue

__all__ = ["Instance", "Scenario", "catalogue"]
