"""Building blocks of scenarios: build context, entry ticket, approvers, policy versions and metrics.

A block draws only from the stream that it is given, in an order that never depends on the scenario.
"""
