"""Bug escalations: a fault that is bad enough by fresh figures is put before the CTO and taken into work."""
