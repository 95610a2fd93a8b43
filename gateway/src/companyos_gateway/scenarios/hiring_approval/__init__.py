"""Job offers: terms within the bands, a free place in the headcount plan, and an independent approver."""
