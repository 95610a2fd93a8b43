"""Chaos: the problems of an episode, planned before it starts from named streams.

`kinds` lists the kinds of chaos and `profiles` reads the levels (one TOML file each in `profiles/`). `sampling` draws
the kinds for an instance, `faults` plans transport faults, and `drift` renames response fields and rewords tool
descriptions. Nothing here depends on the wall clock.
"""

from companyos_gateway.chaos.drift import Drift
from companyos_gateway.chaos.faults import FaultPlan
from companyos_gateway.chaos.kinds import Group, Kind, Mark
from companyos_gateway.chaos.profiles import (
    ChaosError,
    Profile,
    builtin_levels,
    describe_unknown_level,
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
    "describe_unknown_level",
    "draw_kinds",
    "levels",
    "profile_for",
    "read_profile",
    "read_profiles",
]
