"""Incident response: reports are merged, and the cause is linked and rolled back in time with an emergency approval."""
