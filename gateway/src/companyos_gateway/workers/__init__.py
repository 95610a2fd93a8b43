"""Several gateways behind one address: their processes, and the router in front of them."""
