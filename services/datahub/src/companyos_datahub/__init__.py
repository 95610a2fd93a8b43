"""DataHub: a service of CompanyOS."""
