"""Scenarios: one folder each. The folders are the catalogue; nothing else lists them."""

from companyos_gateway.scenarios.catalogue import catalogue
from companyos_gateway.scenarios.scenario import Instance, Scenario

__all__ = ["Instance", "Scenario", "catalogue"]
