"""Delegations: authority handed from one person to another for a while."""
