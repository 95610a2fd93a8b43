"""Metrics reports: figures by their authority, fresh, in the unit that the policy asks for, declared as answers."""
