"""Data discrepancies: find the authority, report the source that is wrong, correct the records that used it."""
