"""Solutions of access requests: fair sees what an agent sees, clairvoyant knows the case, cheats must fail."""
