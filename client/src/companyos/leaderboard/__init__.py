"""The leaderboard: tracks, submissions, their checks, and the page."""
