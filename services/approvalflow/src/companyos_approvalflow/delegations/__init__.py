"""Delegations of approval authority."""
