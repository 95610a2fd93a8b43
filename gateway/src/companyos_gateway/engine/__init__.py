"""One episode from reset to its end: the services over HTTP, the tools, the clock, the reward."""
