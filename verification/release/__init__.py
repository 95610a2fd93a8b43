"""A release: builds the wheels of all packages, and installs and uses them as a check."""
