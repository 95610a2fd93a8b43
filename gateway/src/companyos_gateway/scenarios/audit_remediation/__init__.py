"""Audit remediation: what waits for approval against the policy is cancelled or put to who may decide, and no more."""
