"""Live and finished episodes for the viewer.

All data comes from journals and from the memory of the gateway. Viewing calls no service and delays no step.
"""
