"""Players of the proof: oracles with their traces, and players that must not succeed."""
