"""Final states of episodes, and mutations of them that a rubric must reject or accept."""
