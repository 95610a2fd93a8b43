"""Security exceptions: a rule is waived for a limited time, where a control compensates for it, and recorded."""
