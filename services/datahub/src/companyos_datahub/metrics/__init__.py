"""Metrics: values with a unit, an age and a source."""
