"""The checklist of a ticket."""
