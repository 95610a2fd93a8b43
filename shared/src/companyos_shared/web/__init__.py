"""What protects the app of the gateway and of every service: response headers, trusted hosts, cross-site requests."""
