"""The common ground of the services: streams, wire, chassis."""
