"""A release: wheels of all packages with what belongs to them, and the check that installs and uses them."""
