"""Data issues: what somebody found wrong in the data."""
