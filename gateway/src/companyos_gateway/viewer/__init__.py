"""Episodes as the viewer shows them: those that go on step by step, and those that ended since the gateway started.

Everything is read from journals and from what the house knows anyway: no service is asked, no step waits for a looker.
"""
