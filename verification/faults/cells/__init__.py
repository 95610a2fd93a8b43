"""The cells of the fault matrix."""
