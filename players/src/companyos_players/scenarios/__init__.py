"""The players of each scenario. They see only what an agent sees, and no adversary may succeed."""
