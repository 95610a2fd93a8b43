"""License renewals: a license that runs out is renewed in time, at its right size, with who decides about it."""
