"""Page registry of DataHub."""

from companyos_shared.framework import Pages

PAGES = Pages("companyos_datahub.pages", app="datahub", title="DataHub")
