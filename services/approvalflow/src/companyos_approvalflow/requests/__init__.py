"""Requests: submitted, looked up, withdrawn, cancelled."""
