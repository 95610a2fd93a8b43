"""Incident response: reports are merged, the cause is named and taken back with an emergency approval, in time."""
