"""Code that the gateway, the services and the client share."""
