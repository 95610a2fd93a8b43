"use strict";
// JSON and long texts: the start is shown; the rest is folded and rendered on demand.
(() => {
  const { el, fill } = Viewer;
  const MAX_LINES = 40;
  const MAX_CHARS = 4000;
  const MAX_CELL_CHARS = 240;
  const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

  const coloured = (text) => {
    const parts = [];
    let at = 0;
    for (const match of text.matchAll(TOKENS)) {
      if (match.index > at) parts.push(text.slice(at, match.index));
      const [all, string, colon] = match;
      const kind = string === undefined ? "literal" : colon === undefined ? "string" : "key";
      parts.push(el("span", { class: kind }, string ?? all), colon ?? "");
      at = match.index + all.length;
    }
    return [...parts, text.slice(at)];
  };

  Viewer.folded = (summary, make) => {
    const inside = el("div", {});
    const made = el("details", { class: "fold" }, el("summary", {}, summary), inside);
    made.addEventListener("toggle", () => {
      if (made.open && !inside.childNodes.length) fill(inside, make());
    });
    return made;
  };

  // A value as JSON, its first lines coloured; `label` is its accessible name.
  Viewer.json = (value, label) => {
    const text = JSON.stringify(value, null, 2) ?? "null";
    const lines = text.split("\n");
    const attributes = { class: "json", tabindex: "0", role: "region", "aria-label": label };
    if (lines.length <= MAX_LINES && text.length <= MAX_CHARS) return el("pre", attributes, coloured(text));
    const start = lines.slice(0, MAX_LINES).join("\n").slice(0, MAX_CHARS);
    const all = `All ${Viewer.count(lines.length, "line")}, ${Viewer.count(text.length, "character")}`;
    return el("div", {}, el("pre", { ...attributes, "aria-label": `${label}, the beginning` }, coloured(start), "\n\u2026"),
      Viewer.folded(all, () => el("pre", { ...attributes, "aria-label": `${label}, all` }, text)));
  };

  // A value in a table cell: strings as they are, anything else as JSON; long ones folded.
  Viewer.cell = (value) => {
    if (value === null || value === undefined) return el("span", { class: "quiet" }, "null");
    if (value === "") return el("span", { class: "quiet" }, "empty");
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (text.length <= MAX_CELL_CHARS) return el("span", { class: "value" }, text);
    const rest = `All ${Viewer.count(text.length, "character")}`;
    return el("div", {}, el("span", { class: "value" }, `${text.slice(0, MAX_CELL_CHARS)}\u2026`),
      Viewer.folded(rest, () => el("span", { class: "value" }, text)));
  };
})();
