"""Sources: where metrics come from, how fresh they promise to be and what they are authoritative for."""
