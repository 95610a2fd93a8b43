"""The trainer's console: episodes, scenarios, results, and a form that starts episodes."""
