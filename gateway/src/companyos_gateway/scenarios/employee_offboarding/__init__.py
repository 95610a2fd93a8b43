"""Employee offboarding: whatever a leaver holds or waits for is handed over or ended in time, and no more than that."""
