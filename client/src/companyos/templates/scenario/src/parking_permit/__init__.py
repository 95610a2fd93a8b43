"""A scenario for CompanyOS: an employee's parking permit."""
