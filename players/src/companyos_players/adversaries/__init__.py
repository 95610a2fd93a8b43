"""Adversaries of each scenario: agents that leave out, invent or overdo something. None of them may succeed."""
