"""Vendor onboarding: a new vendor's ticket is triaged, verified, backed by a fresh score, approved and resolved."""
