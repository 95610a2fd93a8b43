"""Who works on a ticket."""
