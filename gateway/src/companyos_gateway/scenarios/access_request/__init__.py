"""Access requests: a person gets the lowest level that the work needs, for a limited time, from the right approver."""
