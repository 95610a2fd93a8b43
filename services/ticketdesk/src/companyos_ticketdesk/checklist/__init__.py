"""Checklists of tickets."""
