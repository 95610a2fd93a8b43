"""Contract renewals: papers in force, the risk of today, legal and finance one after the other, the record renewed."""
