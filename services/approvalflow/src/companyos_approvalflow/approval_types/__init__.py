"""Approval types."""
