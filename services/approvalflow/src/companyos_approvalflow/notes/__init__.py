"""Notes: what people write beside a request."""
