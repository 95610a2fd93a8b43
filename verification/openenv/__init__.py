"""OpenEnv validation: builds the package for OpenEnv's validator, and runs graders that the validator lacks."""
