"""Environment package for `openenv push`."""
