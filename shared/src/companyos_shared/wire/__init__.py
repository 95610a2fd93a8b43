"""Pydantic models of messages between processes: company, call context, control API and problems."""
