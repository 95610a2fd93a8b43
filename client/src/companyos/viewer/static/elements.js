"use strict";
// Elements and formatting. Episode data becomes text nodes and is never parsed as markup.
const Viewer = {};

(() => {
  const SVG = "http://www.w3.org/2000/svg";

  // el("a", { class: "x", href: "#y", onclick: f }, "text", otherElement, null)
  Viewer.el = (tag, attributes = {}, ...children) => {
    const made = ["svg", "polyline", "line"].includes(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? "" : String(value));
    }
    Viewer.fill(made, ...children);
    return made;
  };

  Viewer.fill = (parent, ...children) => {
    const kept = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
    parent.replaceChildren(...kept.map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
    return parent;
  };

  Viewer.table = (caption, heads, rows, attributes = {}) =>
    Viewer.el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      Viewer.el("table", attributes,
        Viewer.el("caption", { class: "unseen" }, caption),
        Viewer.el("thead", {}, Viewer.el("tr", {}, heads.map((head) => Viewer.el("th", { scope: "col" }, head)))),
        Viewer.el("tbody", {}, rows)));

  Viewer.row = (...cells) =>
    Viewer.el("tr", {}, cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : Viewer.el("td", {}, cell))));

  // Scroll only this box until the line is visible.
  Viewer.reveal = (box, line) => {
    const [outer, inner] = [box.getBoundingClientRect(), line.getBoundingClientRect()];
    const bottom = outer.top < innerHeight ? Math.min(outer.bottom, innerHeight) : outer.bottom;
    if (inner.top >= outer.top && inner.bottom <= bottom) return;
    box.scrollTop += (inner.top + inner.bottom) / 2 - (outer.top + bottom) / 2;
  };

  // A tool name that can wrap after each part.
  Viewer.tool = (name) =>
    Viewer.el("bdi", { class: "tool" }, name.split("_").flatMap((part, at) => (at ? ["_", Viewer.el("wbr"), part] : [part])));

  Viewer.badge = (text, tone) => Viewer.el("span", { class: `badge ${tone}` }, text);

  // Result of a check; in a running episode a check that does not hold yet is pending.
  Viewer.checkResult = (passed, facts) => {
    if (passed === undefined) return Viewer.el("span", { class: "quiet" }, "absent");
    if (!passed && facts.outcome === null) return Viewer.badge("pending", "plain");
    return Viewer.badge(passed ? "passed" : "failed", passed ? "good" : "bad");
  };

  Viewer.signed = (value) => {
    const thousandths = Math.round(value * 1000);
    const digits = thousandths % 100 === 0 ? 1 : thousandths % 10 === 0 ? 2 : 3;
    return (thousandths > 0 ? "+" : thousandths < 0 ? "\u2212" : "") + (Math.abs(thousandths) / 1000).toFixed(digits);
  };

  Viewer.tone = (value) => (value > 0 ? "good" : value < -1 ? "bad" : "plain");

  Viewer.count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

  const CLOCK = new Intl.DateTimeFormat("en-GB", {
    weekday: "short", day: "2-digit", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC",
  });

  Viewer.clock = (moment) => (moment ? CLOCK.format(new Date(moment)) : "");

  // Simulated time between two timestamps as text; empty if one is missing.
  Viewer.passed = (from, to) => {
    if (!from || !to) return "";
    const minutes = Math.round((new Date(to) - new Date(from)) / 60000);
    const parts = [[Math.floor(minutes / 1440), "d"], [Math.floor((minutes % 1440) / 60), "h"], [minutes % 60, "min"]];
    return parts.filter(([count]) => count).map(([count, unit]) => `${count} ${unit}`).join(" ") || "0 min";
  };

  Viewer.words = (name) => String(name).replaceAll("_", " ");

  // `vendor_onboarding-large` becomes `Vendor onboarding large`.
  Viewer.label = (name) => {
    const words = name.replaceAll(/[_-]+/g, " ");
    return words.charAt(0).toUpperCase() + words.slice(1);
  };

  // Readable name of an episode; its id if the scenario is unknown.
  Viewer.title = (facts) => facts.scenario === null ? facts.name : [
    Viewer.label(facts.scenario), facts.seed === null ? null : `seed ${facts.seed}`, facts.chaos === null ? null : `chaos ${facts.chaos}`, facts.policy,
  ].filter((part) => part !== null).join(", ");

  // The first sentence of a text, cut after 200 characters.
  Viewer.firstSentence = (text) => {
    const [sentence] = /^.*?[.!?](?=\s|$)|^.*/.exec(text.trim().replaceAll(/\s+/g, " "));
    return sentence.length <= 200 ? sentence : `${sentence.slice(0, 199)}\u2026`;
  };

  // A cost with four significant digits.
  Viewer.cost = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });

  Viewer.outcome = (facts) => {
    if (facts.outcome === null) return Viewer.badge(facts.events ? "live" : "unknown", "plain");
    return Viewer.badge(Viewer.words(facts.outcome), facts.success ? "good" : facts.outcome === "infra_error" ? "odd" : "bad");
  };
})();
