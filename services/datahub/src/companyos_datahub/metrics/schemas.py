"""Response schemas of metrics."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field
from pydantic.config import JsonDict

from companyos_shared.framework import ResponseModel, example

_ROW: JsonDict = {
    "id": "MET-1042",
    "key": "compliance_score",
    "subject": "VEN-207",
    "title": "Compliance score of Nordwind Logistik",
    "source_id": "SRC-RISK",
}
_READING: JsonDict = {
    "metric_id": "MET-1042",
    "value": 82.0,
    "unit": "points",
    "as_of": "2026-02-24T06:00:00Z",
    "source_id": "SRC-RISK",
    "is_stale": True,
}


class MetricRow(ResponseModel):
    """A metric in a list."""

    model_config = example(**_ROW)

    id: str
    key: str = Field(description="Measured quantity.")
    subject: str = Field(description="ID of the measured object.")
    title: str
    source_id: str


class Reading(ResponseModel):
    """The value of one source."""

    model_config = example(**_READING)

    metric_id: str
    value: float
    unit: str
    as_of: datetime = Field(description="Time of the measurement.")
    source_id: str
    is_stale: bool = Field(description="Older than the source's freshness SLA.")


class Readings(ResponseModel):
    """The values of all sources for one key of one subject."""

    model_config = example(key="compliance_score", subject="VEN-207", readings=[_READING])

    key: str
    subject: str
    readings: list[Reading]


class EarlierValue(ResponseModel):
    """An earlier value of a metric."""

    model_config = example(value=85.0, as_of="2026-01-20T06:00:00Z")

    value: float
    as_of: datetime
