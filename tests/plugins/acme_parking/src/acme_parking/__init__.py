"""Parking permits of a company."""
