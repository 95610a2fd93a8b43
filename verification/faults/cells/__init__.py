"""The cells of the fault matrix, in the order of the table."""
