"""CompanyOS: a simulated enterprise for training and evaluating AI agents."""
