"""Several gateways behind one address: their processes, and the router that passes connections on to them."""
