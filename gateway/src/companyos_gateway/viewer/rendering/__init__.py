"""Renders episodes for people: as JSON, text and HTML."""
