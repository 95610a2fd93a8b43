"""The trainer's console: episodes, runs and scenarios in a browser."""
