"""What callers see of metrics."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from companyos_shared.chassis import Answer

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


class MetricRow(Answer):
    """A metric in a list."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ROW]})

    id: str
    key: str = Field(description="What is measured.")
    subject: str = Field(description="Id of what it is measured on.")
    title: str
    source_id: str


class Reading(Answer):
    """What one source says."""

    model_config = ConfigDict(json_schema_extra={"examples": [_READING]})

    metric_id: str
    value: float
    unit: str
    as_of: datetime = Field(description="When the value was true.")
    source_id: str
    is_stale: bool = Field(description="Older than the source's freshness SLA.")


class Readings(Answer):
    """What every asked source says about one key of one subject."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"key": "compliance_score", "subject": "VEN-207", "readings": [_READING]}],
        }
    )

    key: str
    subject: str
    readings: list[Reading]


class EarlierValue(Answer):
    """A value that a metric had before."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": 85.0, "as_of": "2026-01-20T06:00:00Z"}]})

    value: float
    as_of: datetime
