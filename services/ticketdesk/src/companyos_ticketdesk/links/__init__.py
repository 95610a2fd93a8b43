"""Links between tickets: what blocks, duplicates or relates."""
