"""Exports of the tasks as tables, and as files for other harnesses; never with solutions."""
