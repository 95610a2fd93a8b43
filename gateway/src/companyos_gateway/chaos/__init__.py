"""Chaos: what goes wrong in an episode, planned before it starts from named streams.

kinds holds what can go wrong at all, profiles reads the levels (one TOML file each in `profiles/`), draw decides
what strikes an instance, faults says which calls meet a transport fault, drift what fields and tools are called.
Nothing here depends on the wall clock.
"""

from companyos_gateway.chaos.drift import Drift
from companyos_gateway.chaos.faults import FaultPlan
from companyos_gateway.chaos.kinds import Group, Kind, Mark
from companyos_gateway.chaos.profiles import (
    ChaosError,
    Profile,
    builtin_levels,
    levels,
    profile_for,
    read_profile,
    read_profiles,
)
from companyos_gateway.chaos.sampling import Injection, draw_kinds

__all__ = [
    "ChaosError",
    "Drift",
    "FaultPlan",
    "Group",
    "Injection",
    "Kind",
    "Mark",
    "Profile",
    "builtin_levels",
    "draw_kinds",
    "levels",
    "profile_for",
    "read_profile",
    "read_profiles",
]
