"""Harnesses that train and measure, each in an environment of its own: what runs in it, and what it says of its run."""
