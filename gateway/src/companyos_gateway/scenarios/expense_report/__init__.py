"""Expense reports: an expense checked against policy and receipts, approved by who decides about its amount."""
