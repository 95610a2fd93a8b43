"""Handbook updates: a page of the handbook is published once it agrees with the policy and HR has approved it."""
