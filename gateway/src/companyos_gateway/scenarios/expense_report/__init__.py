"""Expense reports: an expense checked against policy and receipts, approved by the role that its amount requires."""
