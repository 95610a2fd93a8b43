"""Third-party clients, each in its own virtual environment, playing an episode of CompanyOS."""
