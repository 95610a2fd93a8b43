"use strict";
// Row changes of a step.
(() => {
  const { el } = Viewer;
  const MARKS = { added: ["+", "good"], changed: ["~", "odd"], deleted: ["\u2212", "bad"] };

  const whom = (change, step) => {
    if (change.actor === "agent") return "by this call";
    const since = change.caused_by === null ? "" : change.caused_by === step.number ? ", caused by this call" : `, caused by step ${change.caused_by}`;
    return `${change.actor === "clock" ? "by a scheduled event" : `by ${change.actor}`}${since}`;
  };

  const heads = { added: ["Column", "Value"], deleted: ["Column", "Previous value"], changed: ["Column", "Before", "After"] };

  const columns = (change, name) => {
    const value = (column, side) => el("td", { class: side }, Viewer.cell(column[side]));
    const sides = { added: ["after"], deleted: ["before"], changed: ["before", "after"] }[change.kind];
    const rows = change.columns.map((column) =>
      Viewer.row(el("th", { scope: "row" }, column.column), ...sides.map((side) => value(column, side))));
    return Viewer.table(`Columns of ${name}`, heads[change.kind], rows, { class: `difference ${change.kind}` });
  };

  const row = (change, step) => {
    const [mark, tone] = MARKS[change.kind];
    const name = `${change.service}.${change.table} ${change.key}`;
    return el("article", { class: "change", "data-testid": "change" },
      el("h4", {}, el("span", { class: `mark ${tone}`, "aria-hidden": "true" }, mark), " ",
        Viewer.badge(change.kind, tone), " ", el("code", {}, `${change.service}.${change.table}`), " ", el("bdi", { class: "rowkey" }, change.key),
        change.label === null ? null : el("bdi", { class: "quiet" }, ` ${change.label}`)),
      el("p", { class: "quiet" }, `${Viewer.clock(change.at)}, ${whom(change, step)}`,
        change.same_columns ? `; ${Viewer.count(change.same_columns, "column")} unchanged` : ""),
      columns(change, name));
  };

  Viewer.changes = (step) =>
    el("section", { "aria-label": "Database difference", "data-testid": "difference" },
      el("h3", {}, "Database difference"),
      step.changes.length
        ? [el("p", { class: "quiet" }, `${Viewer.count(step.changes.length, "row")} changed`), step.changes.map((change) => row(change, step))]
        : el("p", { class: "quiet" }, "No rows changed."));
})();
