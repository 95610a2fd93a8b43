"""Bug escalations: a bug whose fresh error rate is high enough is approved by the CTO and put in progress."""
