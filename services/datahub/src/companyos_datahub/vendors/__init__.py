"""Vendors: who sells to the company, with bank details, their history and certificates."""
