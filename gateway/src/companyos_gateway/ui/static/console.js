// Progressive enhancement: refreshes the parts of a page that have `data-live`. The page works without this file.
"use strict";
(() => {
  const INTERVAL_MS = 3000;

  const byTestId = (root, id) => [...root.querySelectorAll("[data-testid]")].find((one) => one.dataset.testid === id);

  // Update the rows of a table in place: unchanged cells stay, so that they keep focus and selection.
  const mergeRows = (body, fresh) => {
    const kept = new Map([...body.rows].map((row) => [row.dataset.testid, row]));
    const rows = [...fresh.rows].map((row) => {
      const old = kept.get(row.dataset.testid);
      if (!old || old.cells.length !== row.cells.length) return row;
      [...row.cells].forEach((cell, at) => { if (cell.outerHTML !== old.cells[at].outerHTML) old.cells[at].replaceWith(cell); });
      return old;
    });
    if (rows.length !== body.rows.length || rows.some((row, at) => row !== body.rows[at])) body.replaceChildren(...rows);
  };

  const merge = (part, fresh) => {
    const focused = part.contains(document.activeElement) ? document.activeElement.dataset.testid : undefined;
    const checked = [...part.querySelectorAll("input:checked")].map((input) => input.dataset.testid);
    if (part.tBodies) mergeRows(part.tBodies[0], fresh.tBodies[0]);
    else if (part.innerHTML !== fresh.innerHTML) part.replaceChildren(...fresh.childNodes);
    for (const id of checked) {
      const input = byTestId(part, id);
      if (input) input.checked = true;
    }
    if (focused !== undefined && document.activeElement === document.body) byTestId(part, focused)?.focus({ preventScroll: true });
  };

  const refresh = async () => {
    if (document.hidden || document.querySelector("form[data-sent]")) return;
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok || document.querySelector("form[data-sent]")) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
      if (other) merge(part, other);
    }
  };

  // The next request is sent only after the last one has ended; a failed one is repeated.
  const schedule = () => setTimeout(() => refresh().catch(() => null).finally(schedule), INTERVAL_MS);
  schedule();
})();
