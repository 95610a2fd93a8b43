"""OpenEnv validation: the package for OpenEnv's validator, and graders that it does not implement yet."""
