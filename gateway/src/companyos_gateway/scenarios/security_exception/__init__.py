"""Security exceptions: a rule is waived for a limited time if a control compensates for it, and this is recorded."""
