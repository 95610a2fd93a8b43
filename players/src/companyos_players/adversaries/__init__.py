"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""
