"""Directory of people and roles."""
