"""The way of a ticket from triage to its end, and its history."""
