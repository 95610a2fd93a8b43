"""Episodes as the viewer shows them: those that go on step by step, and those that ended since the gateway started.

Everything is read from journals and memory: no service is called, and no step waits for a viewer.
"""
