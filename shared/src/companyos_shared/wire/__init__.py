"""What travels between processes: company, context, control and problem. Pydantic only."""
