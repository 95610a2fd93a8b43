"""CompanyOS for Gymnasium: `gymnasium.make("companyos.integrations.gymnasium:CompanyOS-v1")`."""

from companyos.extras import require_extra

with require_extra("gymnasium", "gymnasium"):
    from gymnasium.envs.registration import register, registry

from companyos.integrations.gymnasium.environment import CompanyOSGym
from companyos.integrations.gymnasium.vector import CompanyOSVectorGym

__all__ = ["ID", "CompanyOSGym", "CompanyOSVectorGym"]

ID = "CompanyOS-v1"
_HERE = __name__

if ID not in registry:
    register(
        id=ID, entry_point=f"{_HERE}.environment:CompanyOSGym", vector_entry_point=f"{_HERE}.vector:CompanyOSVectorGym"
    )
