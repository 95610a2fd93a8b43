"""The two generated documents: what there is to do, and what can be called.

scenarios_page tells of workflows, chaos and splits, tools_page of tools by service; markdown is what both are set in.
"""
