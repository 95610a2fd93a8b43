"""Audit remediation: pending requests that break the policy are canceled or escalated, and no others."""
