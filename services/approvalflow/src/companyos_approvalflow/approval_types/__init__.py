"""Approval types: what can be approved, with which fields and by which role."""
