"""What leads from CompanyOS to the tools that people train and measure with; each asks for a library of its own."""
