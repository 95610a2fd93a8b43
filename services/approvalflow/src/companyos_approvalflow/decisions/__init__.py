"""Decisions, requested information and escalation."""
