"""Contract renewals: valid certificates, current risk, legal approval before finance, and the record renewed."""
