"""The fair oracle of each scenario. It sees only what an agent sees."""
