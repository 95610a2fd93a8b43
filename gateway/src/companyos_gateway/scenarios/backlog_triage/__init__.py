"""Backlog triage: all tickets with a tag, and no others, are triaged by the policy in force."""
