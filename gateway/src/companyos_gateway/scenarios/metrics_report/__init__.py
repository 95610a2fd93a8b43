"""Metrics reports: fresh figures of the authority, in the unit that the policy requires, declared as answers."""
