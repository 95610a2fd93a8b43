"""Verifying a ticket and linking the approval it needs."""
