"""Data issues."""
