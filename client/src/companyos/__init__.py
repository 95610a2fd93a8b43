"""CompanyOS: a simulated enterprise in which AI agents are trained and measured."""
