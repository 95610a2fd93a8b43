"""Backlog triage: the tickets that came in under a tag are sorted by the policy in force, all of them and no others."""
