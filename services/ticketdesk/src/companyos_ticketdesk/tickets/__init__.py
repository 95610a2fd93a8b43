"""The ticket itself: created, changed, found by its key."""
