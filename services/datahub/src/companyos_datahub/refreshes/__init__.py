"""Refresh jobs of metrics."""
