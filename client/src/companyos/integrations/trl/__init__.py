"""TRL integration: `CompanyOSSpec(url, split, chaos)` provides the arguments of a GRPOTrainer."""

from importlib.util import find_spec

from companyos.extras import require_extra

if find_spec("unsloth") is not None:
    import unsloth  # noqa: F401  # before TRL, which it patches; it is installed on machines with a GPU only

with require_extra("trl", "trl"):
    import trl  # noqa: F401

from companyos.integrations.trl.environment import CompanyOSEnvironment
from companyos.integrations.trl.spec import CompanyOSSpec

__all__ = ["CompanyOSEnvironment", "CompanyOSSpec"]
