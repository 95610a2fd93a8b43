"""Logs, traces and latency histograms of the gateway and the services. Episodes never read them."""
