"""The gateway: exposes the services of CompanyOS as one OpenEnv environment."""
