"""Scenarios: one folder each. The folders are the catalogue; nothing else lists them."""

from companyos_gateway.scenarios.api import Instance, Scenario
from companyos_gateway.scenarios.catalogue import catalogue

__all__ = ["Instance", "Scenario", "catalogue"]
