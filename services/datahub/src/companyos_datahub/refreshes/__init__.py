"""Refreshes: the jobs that bring metrics up to date."""
