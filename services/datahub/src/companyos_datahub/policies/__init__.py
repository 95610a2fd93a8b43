"""Policies: versioned documents, superseded ones included."""
