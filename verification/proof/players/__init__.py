"""Players of the proof: oracles and their traces, and players that must not succeed."""
