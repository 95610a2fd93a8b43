"""Web security of the gateway and the services: response headers, trusted hosts, cross-site requests."""
