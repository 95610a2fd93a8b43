"""Building blocks of scenarios: staging, the entry ticket, who decides, rules in versions, metrics.

A block draws from the stream it is given and from no other, in an order that never depends on the scenario.
"""
