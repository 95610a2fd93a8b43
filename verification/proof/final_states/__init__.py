"""Ends of episodes, as they were and bent: what a rubric must reject, and what it must accept."""
