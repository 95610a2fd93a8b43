"""Ticket lists, search and details."""
