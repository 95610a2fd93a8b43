"""Sources of metrics, with freshness SLA and authority."""
