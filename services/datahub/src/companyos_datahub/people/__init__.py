"""People: the directory and who holds which role."""
