"""Approval requests."""
