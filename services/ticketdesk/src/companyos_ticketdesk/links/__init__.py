"""Links between tickets."""
