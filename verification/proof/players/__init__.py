"""Who plays in the proof: oracles with their traces, and the zoo of those who must not succeed."""
