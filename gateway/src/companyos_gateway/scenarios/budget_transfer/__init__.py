"""Budget transfers: money moves between budget lines under one approval, even if it was requested in parts."""
