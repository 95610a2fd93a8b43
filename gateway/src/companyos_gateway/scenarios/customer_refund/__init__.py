"""Customers' refund claims: settled by cause, condition and deadline; suspected fraud is reported."""
