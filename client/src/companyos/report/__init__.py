"""Reports on stored runs: success by group, why episodes failed, and paired comparisons."""

from companyos.report.figures import Report, build_report

__all__ = ["Report", "build_report"]
