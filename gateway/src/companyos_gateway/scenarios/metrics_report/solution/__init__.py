"""Solutions of metrics reports: fair sees what an agent sees, clairvoyant knows the case, cheats must fail."""
