"""Vendors with bank details and certificates."""
