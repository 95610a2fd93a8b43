"""The client of this environment, under the names that OpenEnv makes of the environment's."""

from companyos.client import CompanyosAction, CompanyosEnv, CompanyosObservation

__all__ = ["CompanyosAction", "CompanyosEnv", "CompanyosObservation"]
