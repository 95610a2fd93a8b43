"""Screenshots as observations: the window of an episode's browser, what an agent does in it, and what it is shown."""
