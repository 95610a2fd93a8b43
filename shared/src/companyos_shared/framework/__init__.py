"""Public interface of the service framework. Services import from here and from `wire`, not from the submodules."""

from companyos_shared.framework.app import create_app
from companyos_shared.framework.call import Call, CallDep
from companyos_shared.framework.change_capture import SEARCHED
from companyos_shared.framework.columns import SimDate, SimTime
from companyos_shared.framework.edits import list_edits
from companyos_shared.framework.errors import (
    IdempotencyKeyReusedError,
    InvalidArgumentsError,
    InvalidCursorError,
    ServiceError,
    StaleVersionError,
    error_responses,
)
from companyos_shared.framework.fixed_statements import FixedSelect, insert_rows
from companyos_shared.framework.operation_routes import OperationRouter
from companyos_shared.framework.pages import ALL_ROWS, PageCursor, Pages, PageText, PageView, page_params, parse_choice
from companyos_shared.framework.schemas import (
    IdempotencyKey,
    IfMatch,
    IsoDateText,
    IsoTimeText,
    JsonInteger,
    NotBlank,
    Page,
    PageParams,
    PageQuery,
    RequestModel,
    ResponseModel,
    SeedDocument,
    UtcTime,
    check_version,
    example,
    number_order,
    paginate,
    paginate_sequence,
)
from companyos_shared.framework.service import EventHandler, EventHandlers, Service, demo_toml
from companyos_shared.framework.settings import ServiceSettings
from companyos_shared.framework.text_search import QueryBlankError, Searchable, candidates, search

__all__ = [
    "ALL_ROWS",
    "SEARCHED",
    "Call",
    "CallDep",
    "EventHandler",
    "EventHandlers",
    "FixedSelect",
    "IdempotencyKey",
    "IdempotencyKeyReusedError",
    "IfMatch",
    "InvalidArgumentsError",
    "InvalidCursorError",
    "IsoDateText",
    "IsoTimeText",
    "JsonInteger",
    "NotBlank",
    "OperationRouter",
    "Page",
    "PageCursor",
    "PageParams",
    "PageQuery",
    "PageText",
    "PageView",
    "Pages",
    "QueryBlankError",
    "RequestModel",
    "ResponseModel",
    "Searchable",
    "SeedDocument",
    "Service",
    "ServiceError",
    "ServiceSettings",
    "SimDate",
    "SimTime",
    "StaleVersionError",
    "UtcTime",
    "candidates",
    "check_version",
    "create_app",
    "demo_toml",
    "error_responses",
    "example",
    "insert_rows",
    "list_edits",
    "number_order",
    "page_params",
    "paginate",
    "paginate_sequence",
    "parse_choice",
    "search",
]
