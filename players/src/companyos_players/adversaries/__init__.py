"""Adversaries of each scenario: agents that omit, invent or overdo something. None of them may succeed."""
