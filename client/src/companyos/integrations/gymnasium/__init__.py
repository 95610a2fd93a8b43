"""CompanyOS for Gymnasium: `gymnasium.make("companyos.integrations.gymnasium:CompanyOS-v1")`."""

from companyos.extras import require_extra

with require_extra("gymnasium", "gymnasium"):
    from gymnasium.envs.registration import register, registry

from companyos.integrations.gymnasium.environment import CompanyOSGym, CompanyOSVectorGym

__all__ = ["ID", "CompanyOSGym", "CompanyOSVectorGym"]

ID = "CompanyOS-v1"
_MODULE = f"{__name__}.environment"

if ID not in registry:
    register(id=ID, entry_point=f"{_MODULE}:CompanyOSGym", vector_entry_point=f"{_MODULE}:CompanyOSVectorGym")
