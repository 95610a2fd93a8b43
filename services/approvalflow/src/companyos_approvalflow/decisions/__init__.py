"""Decisions: who may decide, when and how; information and escalation."""
