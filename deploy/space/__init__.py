"""The environment as `openenv push` wants a folder to look like."""
