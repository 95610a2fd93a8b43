"""Client of this environment under the names that OpenEnv derives from the environment name."""

from companyos.client import CompanyosAction, CompanyosEnv, CompanyosObservation

__all__ = ["CompanyosAction", "CompanyosEnv", "CompanyosObservation"]
