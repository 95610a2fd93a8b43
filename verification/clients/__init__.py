"""Clients that nobody here wrote, each in an environment of its own, playing an episode of this house."""
