"""Pages of a standalone DataHub: they show the results of the tools, and each form is a tool call."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from companyos_datahub.main import SERVICE
from companyos_shared.pages.values import duration
from tests.datahub.builders import a_document, a_seed
from tests.service_pages import HOSTILE, PageBrowser, browse, rows_of


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[PageBrowser]:
    """Provide a browser of the demo company with more invoices than a page shows."""
    document = a_document()
    invoice = next(record for record in document["records"] if record["kind"] == "invoice")
    more = [{**invoice, "id": f"INV-{7000 + number}"} for number in range(30)]
    seed = a_seed(records=document["records"] + more)
    async with browse(replace(SERVICE, demo_seed=lambda: seed), tmp_path) as own:
        yield own


async def test_values_show_their_age_and_limit_and_objects_their_names_before_their_ids(
    browser: PageBrowser,
) -> None:
    [metric] = [row for row in (await browser.get("/metrics")).json()["items"] if row["id"] == "MET-1"]
    source = (await browser.get(f"/sources/{metric['source_id']}")).json()
    limit = f"stale after {duration(source['freshness_sla_minutes'])}"
    for page in ("", "metrics/MET-1", f"sources/{source['id']}"):
        assert re.search(rf"\d (min|h|d) old, {limit}", (await browser.get(f"/pages/{page}")).text), page
    for page in ("", "metrics/MET-1"):
        text = (await browser.get(f"/pages/{page}")).text
        assert re.search(rf"{source['name']} <a [^>]*>{source['id']}</a>", text), page
    [record, *_] = (await browser.get("/records?kind=contract")).json()["items"]
    vendor = (await browser.get(f"/vendors/{record['vendor_id']}")).json()
    for page in ("records?kind=contract", f"records/{record['id']}"):
        text = (await browser.get(f"/pages/{page}")).text
        assert re.search(rf"{vendor['name']} <a [^>]*>{vendor['id']}</a>", text), page


async def test_the_list_is_filtered_and_continues_at_its_cursor(browser: PageBrowser) -> None:
    _, second = await browser.rows_of_two_pages("records", kind="invoice", q="lenses")
    assert len(second) == 11


async def test_the_catalogue_marks_stale_and_fresh_values(browser: PageBrowser) -> None:
    shown = await browser.get("/pages/", params={"key": "compliance_score", "q": "Nordwind"})
    assert rows_of(shown.text) == ["MET-1", "MET-2"]
    assert [word.strip() for word in re.findall(r'data-testid="freshness">([^<]*)', shown.text)] == ["Stale", "Fresh"]


async def test_a_history_has_a_chart_a_table_and_a_summary(browser: PageBrowser) -> None:
    text = (await browser.get("/pages/metrics/MET-1")).text
    assert text.count("<circle") == 3
    assert "3 values in points, from 88 on 22 Jan 2026, 06:00 to 82 on 22 Feb 2026, 06:00." in text
    assert "2 of 2 earlier values shown" in text


async def test_starting_a_refresh_redirects_to_its_job(browser: PageBrowser) -> None:
    made = await browser.submit("refresh_metric", "metrics/MET-1", _next="refreshes/{id}", metric_id="MET-1")
    assert made.url.path == "/pages/refreshes/RJ-1"
    assert "Queued" in made.text
    refused = await browser.submit("refresh_metric", "metrics/MET-1", metric_id="MET-1")
    assert refused.status_code == 409
    assert 'data-code="refresh-running"' in refused.text
    assert rows_of((await browser.get("/pages/refreshes")).text) == ["RJ-1"]


async def test_the_form_of_a_record_has_typed_fields(browser: PageBrowser) -> None:
    text = (await browser.get("/pages/records/INV-6620")).text
    names = set(re.findall(r'name="(fields\.[^"]+)"', text))
    assert {"fields.quantity:number", "fields.unit_price_cents:cents", "fields.hold_reason"} < names
    fields = {"fields.quantity:number": "38", "fields.unit_price_cents:cents": "1,300.50", "state": "on_hold"}
    done = await browser.submit(
        "update_record", "records/INV-6620", record_id="INV-6620", **{"if_match:int": "1"}, **fields
    )
    assert done.status_code == 200
    record = (await browser.get("/records/INV-6620")).json()
    assert (record["state"], record["fields"]["quantity"], record["fields"]["unit_price_cents"]) == (
        "on_hold",
        38,
        130_050,
    )
    edits = done.text.partition('data-testid="edits"')[2].partition("</table>")[0]
    rows = re.findall(r"<td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td></tr>", edits)
    assert {field: after for field, _, after in rows} == {
        "State": "On hold",
        "Quantity": "38",
        "Unit price": "1,300.50",
    }


async def test_a_vendor_can_be_changed_and_shows_a_certificate(browser: PageBrowser) -> None:
    filed = await browser.submit(
        "update_vendor",
        "vendors/VEN-202",
        vendor_id="VEN-202",
        bank_iban="DE44500105175407324931",
        **{
            "if_match:int": "1",
            "certificate.kind": "iso9001",
            "certificate.issued_on": "2026-02-01",
            "certificate.expires_on": "2029-01-31",
        },
    )
    assert filed.status_code == 200
    assert re.findall(r'data-testid="certificate">(\w+)', filed.text) == ["Expired", "Valid"]
    assert filed.text.count('data-testid="row-BC-') == 2
    stale = await browser.submit(
        "update_vendor", "vendors/VEN-202", vendor_id="VEN-202", notes="kept", **{"if_match:int": "1"}
    )
    assert stale.status_code == 412
    assert "kept</textarea>" in stale.text


async def test_a_data_issue_is_reported_and_listed(browser: PageBrowser) -> None:
    fields = {"subject": "MET-1", "kind": "stale", "description": HOSTILE}
    refused = await browser.submit("report_data_issue", "report", **fields, reason_code="data_unavailable")
    assert refused.status_code == 422
    assert 'data-code="reason-incomplete"' in refused.text
    assert 'value="data_unavailable" selected' in refused.text
    done = await browser.submit("report_data_issue", "report", **fields)
    assert rows_of(done.text) == ["DI-1"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in done.text


async def test_a_superseded_version_is_marked(browser: PageBrowser) -> None:
    listed = (await browser.get("/pages/policies", params={"q": "onboarding"})).text
    assert re.findall(r'data-testid="status">([^<]*)', listed) == ["Superseded", "In force"]
    assert "This version is superseded." in (await browser.get("/pages/policies/POL-007?version=1")).text


async def test_a_month_shows_absences_and_holidays(browser: PageBrowser) -> None:
    march = (await browser.get("/pages/calendar?month=2026-03")).text
    tuesday = march.partition('data-testid="day-2026-03-10"')[2].partition("</td>")[0]
    assert "Samuel Boateng" in tuesday
    assert "Good Friday" in (await browser.get("/pages/calendar?month=2026-04")).text


async def test_an_unavailable_page_shows_an_error_page(browser: PageBrowser) -> None:
    await browser.check_errors(
        ("metrics/MET-99", 404, "metric-not-found"),
        ("vendors/VEN-99", 404, "vendor-not-found"),
        ("policies/POL-99", 404, "policy-not-found"),
        ("records?kind=nonsense", 422, "invalid-arguments"),
        ("calendar?month=2026-13", 422, "period-not-allowed"),
        ("calendar?month=9999-12", 422, "period-not-allowed"),
        ("people?cursor=x", 422, "invalid-cursor"),
    )
