"""Privileged oracles, which know the hidden facts of an instance. They are only for tests and the proof."""
