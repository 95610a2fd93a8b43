"""Public interface of the service framework. Services import from here and from `wire`, not from the submodules."""

from companyos_shared.chassis.app import create_app
from companyos_shared.chassis.call import Call, CallDep
from companyos_shared.chassis.columns import SimDate, SimTime
from companyos_shared.chassis.due import Happening, Happenings
from companyos_shared.chassis.errors import (
    IdempotencyKeyReused,
    InvalidArguments,
    InvalidCursor,
    Problem,
    StaleVersion,
    problems,
)
from companyos_shared.chassis.pages import EVERYTHING, PageCursor, Pages, PageText, Showing, chosen, rows_from
from companyos_shared.chassis.schemas import (
    Answer,
    Body,
    IdempotencyKey,
    IfMatch,
    Page,
    PageParams,
    PageQuery,
    SeedDocument,
    WrittenTime,
    check_version,
    paginate,
    paginate_sequence,
)
from companyos_shared.chassis.service import Service
from companyos_shared.chassis.settings import ServiceSettings

__all__ = [
    "EVERYTHING",
    "Answer",
    "Body",
    "Call",
    "CallDep",
    "Happening",
    "Happenings",
    "IdempotencyKey",
    "IdempotencyKeyReused",
    "IfMatch",
    "InvalidArguments",
    "InvalidCursor",
    "Page",
    "PageCursor",
    "PageParams",
    "PageQuery",
    "PageText",
    "Pages",
    "Problem",
    "SeedDocument",
    "Service",
    "ServiceSettings",
    "Showing",
    "SimDate",
    "SimTime",
    "StaleVersion",
    "WrittenTime",
    "check_version",
    "chosen",
    "create_app",
    "paginate",
    "paginate_sequence",
    "problems",
    "rows_from",
]
