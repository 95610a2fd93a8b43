"""Comments on a ticket."""
