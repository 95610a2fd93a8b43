"""The console of whoever runs the house: what is played, what can be played, and a way to start it."""
