"""Project selection: of the proposals that compete for a budget line, the best selection that it can fund."""
