"""The fair oracle of each scenario: it sees only what an agent sees."""
