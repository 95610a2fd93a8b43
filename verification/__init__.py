"""Checks for development that are not part of any distribution."""
