"""Access requests: somebody needs a system, and gets the least that the work needs, with an end, from who decides."""
