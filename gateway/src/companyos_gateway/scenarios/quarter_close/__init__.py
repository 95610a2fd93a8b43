"""Quarter closes: documents settled and tickets resolved, then totals approved, then the budget line closed."""
