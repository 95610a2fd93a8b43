"""Third-party clients that play an episode of CompanyOS, each in its own virtual environment."""
