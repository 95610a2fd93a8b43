"""Verification of tickets and links to approvals."""
