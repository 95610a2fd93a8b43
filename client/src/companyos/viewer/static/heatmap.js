"use strict";
// Outcomes of a run by scenario and seed, and failed checks by policy.
(() => {
  const { el } = Viewer;
  const MAX_EPISODES = 5000;
  const MAX_CHECKS = 10;
  const WIDE_ROW = 24; // longer rows use the full width

  const KINDS = { success: ["\u2713", "success"], failure: ["\u2717", "failed"], running: ["\u2026", "running"], error: ["!", "infrastructure error"] };
  const kindOf = (facts) =>
    facts.outcome === null ? "running" : facts.outcome === "infra_error" ? "error" : facts.success ? "success" : "failure";

  const grouped = (episodes, key) => {
    const groups = new Map();
    for (const facts of episodes) {
      if (!groups.has(key(facts))) groups.set(key(facts), []);
      groups.get(key(facts)).push(facts);
    }
    return groups;
  };

  const cell = (facts) => el("a", {
    class: `cell ${kindOf(facts)}`, href: Viewer.link({ episode: facts.name }), title: Viewer.title(facts),
    "aria-label": `${facts.name}: ${facts.outcome === null ? "running" : Viewer.words(facts.outcome)}`,
  }, KINDS[kindOf(facts)][0]);

  const legend = () => el("p", { class: "quiet legend", "aria-hidden": "true" },
    Object.entries(KINDS).map(([kind, [mark, words]]) => [el("span", { class: `cell ${kind}` }, mark), ` ${words} `]));

  // A row for each scenario and policy, a column for each chaos level, a cell for each seed.
  Viewer.heatMap = (run) => {
    const episodes = run.episodes.filter((facts) => facts.scenario !== null);
    if (episodes.length < 2) return null;
    const shown = episodes.slice(0, MAX_EPISODES);
    const levels = [...new Set(shown.map((facts) => facts.chaos))].sort((one, other) => one - other);
    const hasPolicies = new Set(shown.map((facts) => facts.policy)).size > 1;
    const groups = [...grouped(shown, (facts) => JSON.stringify([facts.scenario, facts.policy]))].sort(([one], [other]) => (one < other ? -1 : 1));
    const isWide = groups.some(([, own]) => own.length > WIDE_ROW);
    const rows = groups.map(([, own]) => {
      const byLevel = grouped([...own].sort((one, other) => one.seed - other.seed), (facts) => facts.chaos);
      return el("tr", { "data-testid": "heat-row" }, el("th", { scope: "row" }, el("bdi", {}, Viewer.label(own[0].scenario))),
        hasPolicies ? el("td", {}, el("bdi", {}, own[0].policy ?? "")) : null,
        el("td", { class: "figure" }, `${own.filter((facts) => facts.success).length} of ${own.length}`),
        levels.map((level) => el("td", {}, el("div", { class: "cells" }, (byLevel.get(level) ?? []).map(cell)))));
    });
    const heads = ["Scenario", ...(hasPolicies ? ["Policy"] : []), "Successes", ...levels.map((level) => (levels.length > 1 ? `Chaos ${level}` : "By seed"))];
    return el("section", { "aria-label": "Outcomes", "data-testid": "heat-map" }, el("h2", {}, "Outcomes"), legend(),
      Viewer.table("Outcomes by scenario and seed", heads, rows, { class: isWide ? "heat wide" : "heat" }),
      episodes.length > shown.length ? el("p", { class: "quiet" }, `The first ${Viewer.count(shown.length, "episode")} of ${episodes.length.toLocaleString("en")} are shown.`) : null);
  };

  // The failed checks of an episode; in a running one, checks that do not hold yet are pending.
  Viewer.failedChecks = (facts) => (facts.outcome === null ? [] : facts.failed);

  const checkTable = (counts, policies) => Viewer.table("Failed checks by policy", ["Check", ...policies.map((policy) => policy ?? "Episodes")],
    counts.map(([id, own]) => el("tr", { "data-testid": "failed-check" },
      el("th", { scope: "row" }, el("a", { href: Viewer.link({ failed: id }) }, el("bdi", {}, Viewer.words(id)))),
      policies.map((policy) => el("td", { class: "figure" }, own.has(policy)
        ? el("a", { href: Viewer.link({ failed: id, policy }), "aria-label": `${Viewer.count(own.get(policy), "episode")} of ${policy} failed ${Viewer.words(id)}` }, own.get(policy)) : "0")))), { class: "failures" });

  Viewer.failureTable = (run) => {
    const policies = [...new Set(run.episodes.map((facts) => facts.policy))].sort();
    const counts = new Map();
    for (const facts of run.episodes) {
      for (const id of Viewer.failedChecks(facts)) {
        if (!counts.has(id)) counts.set(id, new Map());
        counts.get(id).set(facts.policy, (counts.get(id).get(facts.policy) ?? 0) + 1);
      }
    }
    if (!counts.size || run.episodes.length < 2) return null;
    const sum = (own) => [...own.values()].reduce((one, other) => one + other, 0);
    const ordered = [...counts].sort(([, one], [, other]) => sum(other) - sum(one));
    const rest = ordered.slice(MAX_CHECKS);
    return el("section", { "aria-label": "Failed checks", "data-testid": "failures" }, el("h2", {}, "Failed checks"),
      checkTable(ordered.slice(0, MAX_CHECKS), policies),
      rest.length ? Viewer.folded(`${Viewer.count(rest.length, "more check")}`, () => checkTable(rest, policies)) : null);
  };
})();
