"""ApprovalFlow: a service of CompanyOS."""
