"""The gateway: three services made one OpenEnv environment."""
