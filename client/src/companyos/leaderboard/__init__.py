"""The leaderboard: tracks, submissions, their check, and the page."""
