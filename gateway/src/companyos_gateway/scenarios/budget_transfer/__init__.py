"""Budget transfers: money goes from one line to another under policy, in one piece, whatever was asked for in parts."""
