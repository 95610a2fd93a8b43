"""License renewals: an expiring license is renewed in time, at its right size, by the right approver."""
