"use strict";
// List of a run's episodes: filters, sorting, and selection of two to compare.
(() => {
  const { el, fill } = Viewer;
  const SHOWN = 200;
  const COLUMNS = [
    ["episode", (facts) => facts.name],
    ["outcome", (facts) => facts.outcome ?? ""],
    ["return", (facts) => facts.return],
    ["steps", (facts) => facts.steps],
    ["failed checks", (facts) => Viewer.failedChecks(facts).length],
    ["policy", (facts) => facts.policy ?? ""],
    ["chaos", (facts) => facts.chaos ?? -1],
    ["tokens", (facts) => facts.tokens ?? -1],
    ["cost", (facts) => facts.cost ?? -1],
  ];
  // Columns of models are shown if an episode has a value.
  const isShown = (episodes, name) => !["tokens", "cost"].includes(name) || episodes.some((facts) => (facts[name] ?? null) !== null);
  const state = { scenario: "", policy: "", outcome: "", text: "", column: -1, down: false, shown: SHOWN, chosen: [] };

  const values = (episodes, name) => [...new Set(episodes.map((facts) => facts[name]).filter((value) => value !== null))].sort();

  const choice = (label, name, options, redraw) =>
    el("label", {}, label,
      el("select", { name, onchange: (event) => { state[name] = event.target.value; redraw(); } },
        el("option", { value: "" }, "all"),
        options.map((option) => el("option", { value: option, selected: state[name] === option }, Viewer.words(option)))));

  const matching = (episodes) => {
    const query = Viewer.words(state.text.trim().toLowerCase());
    const isCheck = episodes.some((facts) => facts.failed.includes(state.text));
    const isMatch = (facts) => isCheck
      ? Viewer.failedChecks(facts).includes(state.text)
      : [facts.name, facts.trouble ?? "", ...Viewer.failedChecks(facts)].some((text) => Viewer.words(text).toLowerCase().includes(query));
    const found = episodes.filter((facts) =>
      ["scenario", "policy", "outcome"].every((name) => state[name] === "" || facts[name] === state[name]) && (query === "" || isMatch(facts)));
    if (state.column < 0) return found;
    const key = COLUMNS[state.column][1];
    const sign = state.down ? -1 : 1;
    return found.sort((one, other) => sign * (key(one) < key(other) ? -1 : key(one) > key(other) ? 1 : 0));
  };

  const heading = (at, redraw) => {
    const isOrder = state.column === at;
    const order = () => {
      state.down = isOrder && !state.down;
      state.column = at;
      redraw();
    };
    return el("th", { scope: "col", "aria-sort": isOrder ? (state.down ? "descending" : "ascending") : null },
      el("button", { type: "button", class: "order", onclick: order }, COLUMNS[at][0], el("span", { "aria-hidden": "true" }, isOrder ? (state.down ? " \u25bc" : " \u25b2") : "")));
  };

  const line = (facts, names, redraw) => {
    const failed = Viewer.failedChecks(facts);
    const choose = (event) => {
      state.chosen = state.chosen.filter((name) => name !== facts.name);
      if (event.target.checked) state.chosen = [...state.chosen, facts.name].slice(-2);
      redraw();
    };
    return el("tr", { "data-testid": "episode" },
      el("td", {}, el("input", { type: "checkbox", "aria-label": `Compare ${facts.name}`, checked: state.chosen.includes(facts.name), onchange: choose })),
      el("th", { scope: "row" }, el("a", { href: Viewer.link({ episode: facts.name }) }, el("bdi", {}, facts.name))),
      el("td", {}, Viewer.outcome(facts)),
      el("td", { class: `figure ${Viewer.tone(facts.return)}` }, Viewer.signed(Math.round(facts.return * 10) / 10)),
      el("td", { class: "figure" }, facts.steps),
      el("td", { class: "failed" }, failed.slice(0, 3).map(Viewer.words).join(", "), failed.length > 3 ? ` and ${failed.length - 3} more` : "",
        facts.trouble === null ? null : el("span", { class: "bad" }, ` ${facts.trouble}`)),
      el("td", {}, el("bdi", {}, facts.policy ?? "")),
      el("td", { class: "figure" }, facts.chaos ?? ""),
      names.includes("tokens") ? el("td", { class: "figure" }, facts.tokens?.toLocaleString("en") ?? "") : null,
      names.includes("cost") ? el("td", { class: "figure" }, (facts.cost ?? null) === null ? "" : Viewer.cost(facts.cost)) : null);
  };

  const table = (episodes, names, redraw) => {
    const rows = episodes.slice(0, state.shown).map((facts) => line(facts, names, redraw));
    const heads = el("tr", {}, el("th", { scope: "col" }, el("span", { class: "unseen" }, "Compare")), COLUMNS.map(([name], at) => (names.includes(name) ? heading(at, redraw) : null)));
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Episodes" },
      el("table", { class: "episodes" }, el("caption", { class: "unseen" }, "Episodes"), el("thead", {}, heads), el("tbody", {}, rows)));
  };

  // `failed` and `policy` of a link set the filters: a failed check, and a policy.
  Viewer.runList = (root, run, { failed, policy }) => {
    if (failed !== undefined) Object.assign(state, { scenario: "", outcome: "", policy: policy ?? "", text: failed });
    const names = COLUMNS.map(([name]) => name).filter((name) => isShown(run.episodes, name));
    const list = el("div", {});
    const status = el("p", { role: "status", class: "quiet" });
    const buttons = el("p", {});
    const redraw = () => {
      const found = matching([...run.episodes]);
      const successes = found.filter((facts) => facts.success).length;
      const share = found.length ? ` (${((100 * successes) / found.length).toFixed(1)}%)` : "";
      fill(status, `${successes} of ${Viewer.count(found.length, found.length === run.episodes.length ? "episode" : "matching episode")} successful${share}`);
      const [one, other] = state.chosen;
      fill(buttons,
        other === undefined
          ? el("span", { class: "quiet" }, "Select two episodes to compare them.")
          : el("a", { class: "button", href: Viewer.link({ episode: one, with: other }), "data-testid": "compare" }, "Compare the selected episodes"));
      const more = () => { state.shown += 5 * SHOWN; redraw(); };
      const focused = list.contains(document.activeElement) ? [...list.querySelectorAll("button, input, a")].indexOf(document.activeElement) : -1;
      fill(list, table(found, names, redraw), found.length > state.shown ? el("button", { type: "button", onclick: more }, `Show more of ${found.length}`) : null);
      if (focused >= 0) [...list.querySelectorAll("button, input, a")][focused]?.focus();
    };
    fill(root,
      el("header", { class: "top" }, el("h1", {}, el("bdi", {}, run.title))),
      Viewer.faults(run.faults),
      el("div", { class: "figures" }, Viewer.heatMap(run), Viewer.failureTable(run)),
      el("form", { class: "filters", "aria-label": "Filter episodes", onsubmit: (event) => event.preventDefault() },
        choice("Scenario", "scenario", values(run.episodes, "scenario"), redraw),
        choice("Policy", "policy", values(run.episodes, "policy"), redraw),
        choice("Outcome", "outcome", values(run.episodes, "outcome"), redraw),
        el("label", {}, "Name or failed check", el("input", { type: "search", value: state.text, oninput: (event) => { state.text = event.target.value; redraw(); } }))),
      status, buttons, list);
    redraw();
    if (failed !== undefined) status.scrollIntoView();
  };
})();
