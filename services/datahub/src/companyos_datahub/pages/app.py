"""Page registry of DataHub."""

from companyos_shared.chassis import Pages

PAGES = Pages("companyos_datahub.pages", app="datahub", title="DataHub")
