"use strict";
// Comparison of two episodes: aligned steps side by side, and the checks of their verdicts.
(() => {
  const { el, fill } = Viewer;

  const request = (step) => JSON.stringify([step.tool, step.arguments]);
  const response = (step) => JSON.stringify([step.result, step.error, step.reward]);

  const difference = (left, right) => {
    if (right === undefined) return "only in the first";
    if (left === undefined) return "only in the second";
    if (request(left) !== request(right)) return "different arguments";
    return response(left) === response(right) ? "same" : "different response";
  };

  const pairs = (one, other) => Viewer.align(one.steps, other.steps).map(([left, right], at) => ({ number: at + 1, left, right, how: difference(left, right) }));

  const isOver = (episode) => episode.facts.outcome !== null;

  // `isLater`: the other episode continues after the last step of this one.
  const short = (step, episode, isLater) => step === undefined
    ? el("span", { class: "quiet" }, !isLater ? "\u2013" : isOver(episode) ? "ended" : "not yet played")
    : [el("span", { class: "quiet" }, `${step.number} `), Viewer.tool(step.tool), " ", Viewer.stepStatus(step), " ", el("span", { class: Viewer.tone(step.reward) }, Viewer.signed(step.reward))];

  const line = (pair, link, one, other, ends) =>
    el("tr", { class: pair.how === "same" ? null : "differs", "data-number": pair.number, "data-testid": "pair" },
      el("th", { scope: "row" }, el("a", { href: link(pair.number), id: `step-${pair.number}` }, pair.number)),
      el("td", {}, short(pair.left, one, pair.number > ends.left)), el("td", {}, short(pair.right, other, pair.number > ends.right)),
      el("td", {}, pair.how === "same" ? el("span", { class: "quiet" }, "same") : Viewer.badge(pair.how, "odd")));

  const checks = (one, other) => {
    const passed = (episode) => new Map((episode.judged?.verdict ?? episode.verdict)?.checks.map((check) => [check.id, check.passed]) ?? []);
    const [left, right] = [passed(one), passed(other)];
    const rows = [...new Set([...left.keys(), ...right.keys()])].map((id) => {
      const differs = left.get(id) !== right.get(id);
      return el("tr", { class: differs ? "differs" : null },
        el("th", { scope: "row" }, el("bdi", {}, Viewer.words(id))), el("td", {}, Viewer.checkResult(left.get(id), one.facts)), el("td", {}, Viewer.checkResult(right.get(id), other.facts)), el("td", {}, differs ? "differs" : ""));
    });
    return Viewer.table("Checks of both", ["Check", "First", "Second", ""], rows);
  };

  const head = (episode, which) =>
    el("div", { class: "card" }, el("h2", {}, `${which}: `, el("a", { href: Viewer.link({ episode: episode.facts.name }) }, el("bdi", {}, Viewer.title(episode.facts)))),
      el("p", {}, el("code", { class: "quiet id" }, episode.facts.name)), el("p", {}, Viewer.outcome(episode.facts), ` return ${Viewer.signed(episode.facts.return)} in ${Viewer.count(episode.steps.length, "step")}`));

  // Show the comparison; returns a function that selects a row (0 shows the verdicts), and one that finds the next row.
  Viewer.comparison = (root, one, other) => {
    const rows = pairs(one, other);
    const first = rows.find((pair) => pair.how !== "same");
    const link = (number) => Viewer.link({ episode: one.facts.name, with: other.facts.name, step: number });
    const ends = { left: rows.findLast((pair) => pair.left)?.number ?? 0, right: rows.findLast((pair) => pair.right)?.number ?? 0 };
    const lines = rows.map((pair) => line(pair, link, one, other, ends));
    const detail = el("div", { class: "detail", "data-testid": "detail" });
    const status = el("p", { role: "status", class: "unseen" });
    const parts = first === undefined ? "The episodes are identical." : `First difference in row ${first.number}: ${first.how}.`;
    fill(root,
      el("nav", { "aria-label": "Way back" }, el("a", { href: "#" }, "All episodes")),
      el("header", { class: "top" }, el("h1", {}, "Two episodes side by side")),
      el("div", { class: "sides" }, head(one, "First"), head(other, "Second")),
      el("p", { "data-testid": "parting" }, parts, " ", first ? el("a", { href: link(first.number) }, "Show it") : null), status,
      Viewer.table("Steps of both", ["Row", "First", "Second", ""], lines, { class: "pairs" }), detail);
    const side = (step, episode, isLater) => {
      if (step !== undefined) return el("div", { class: "card" }, Viewer.stepDetail(step, episode.steps[episode.steps.indexOf(step) - 1]?.now ?? episode.started_at, null, episode.messages));
      const text = !isLater ? "This episode has no such call here." : isOver(episode) ? "This episode had ended before this call." : "This episode has not reached this call yet.";
      return el("p", { class: "quiet card" }, text);
    };
    const select = (number) => {
      for (const row of lines) row.querySelector("a").removeAttribute("aria-current");
      const pair = rows[number - 1];
      if (pair === undefined) {
        fill(detail, el("section", { class: "card", "aria-label": "Verdicts" }, el("h2", {}, "Verdicts"), checks(one, other)));
        return;
      }
      lines[number - 1].querySelector("a").setAttribute("aria-current", "step");
      Viewer.reveal(lines[number - 1].closest(".scroll"), lines[number - 1]);
      fill(detail, el("div", { class: "sides" }, side(pair.left, one, number > ends.left), side(pair.right, other, number > ends.right)));
      fill(status, `Row ${number}: ${pair.how}`);
    };
    return { select, next: (number, by) => Math.min(Math.max(number + by, 0), rows.length) };
  };
})();
