"""Training and evaluation harnesses, each in its own environment, with the script that runs it."""
