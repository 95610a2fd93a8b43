"""Integrations with training and evaluation frameworks; each requires its own library."""
