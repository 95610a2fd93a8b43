"use strict";
// Comparison of two episodes: steps side by side, and the checks of their verdicts.
(() => {
  const { el, fill } = Viewer;

  const request = (step) => (step === undefined ? "" : JSON.stringify([step.tool, step.arguments]));
  const response = (step) => (step === undefined ? "" : JSON.stringify([step.result, step.error, step.reward]));

  const pairs = (one, other) => {
    const count = Math.max(one.steps.length, other.steps.length);
    return Array.from({ length: count }, (_, at) => {
      const [left, right] = [one.steps[at], other.steps[at]];
      const how = request(left) !== request(right) ? "different call" : response(left) !== response(right) ? "different response" : "same";
      return { number: at + 1, left, right, how };
    });
  };

  const isOver = (episode) => episode.facts.outcome !== null;

  const short = (step, episode) => step === undefined
    ? el("span", { class: "quiet" }, isOver(episode) ? "ended" : "not yet played")
    : [Viewer.tool(step.tool), " ", Viewer.stepStatus(step), " ", el("span", { class: Viewer.tone(step.reward) }, Viewer.signed(step.reward))];

  const line = (pair, link, one, other) =>
    el("tr", { class: pair.how === "same" ? null : "differs", "data-number": pair.number, "data-testid": "pair" },
      el("th", { scope: "row" }, el("a", { href: link(pair.number), id: `step-${pair.number}` }, pair.number)),
      el("td", {}, short(pair.left, one)), el("td", {}, short(pair.right, other)),
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
    el("div", { class: "card" }, el("h2", {}, `${which}: `, el("a", { href: Viewer.link({ episode: episode.facts.name }) }, el("bdi", {}, episode.facts.name))),
      el("p", {}, Viewer.outcome(episode.facts), ` return ${Viewer.signed(episode.facts.return)} in ${Viewer.count(episode.steps.length, "step")}`));

  // Show the comparison; returns a function that selects a step (0 shows the verdicts), and one that finds the next step.
  Viewer.comparison = (root, one, other) => {
    const rows = pairs(one, other);
    const first = rows.find((pair) => pair.how !== "same");
    const link = (number) => Viewer.link({ episode: one.facts.name, with: other.facts.name, step: number });
    const lines = rows.map((pair) => line(pair, link, one, other));
    const detail = el("div", { class: "detail", "data-testid": "detail" });
    const status = el("p", { role: "status", class: "unseen" });
    const parts = first === undefined ? "The episodes are identical." : `First difference at step ${first.number}: ${first.how}.`;
    fill(root,
      el("nav", { "aria-label": "Way back" }, el("a", { href: "#" }, "All episodes")),
      el("header", { class: "top" }, el("h1", {}, "Two episodes side by side")),
      el("div", { class: "sides" }, head(one, "First"), head(other, "Second")),
      el("p", { "data-testid": "parting" }, parts, " ", first ? el("a", { href: link(first.number) }, "Show it") : null), status,
      Viewer.table("Steps of both", ["Step", "First", "Second", ""], lines, { class: "pairs" }), detail);
    const side = (step, episode, at) => step === undefined
      ? el("p", { class: "quiet card" }, isOver(episode) ? "This episode had ended before this step." : "This episode has not reached this step yet.")
      : el("div", { class: "card" }, Viewer.stepDetail(step, episode.steps[at - 1]?.now ?? episode.started_at, null, episode.messages));
    const select = (number) => {
      for (const row of lines) row.querySelector("a").removeAttribute("aria-current");
      const pair = rows[number - 1];
      if (pair === undefined) {
        fill(detail, el("section", { class: "card", "aria-label": "Verdicts" }, el("h2", {}, "Verdicts"), checks(one, other)));
        return;
      }
      lines[number - 1].querySelector("a").setAttribute("aria-current", "step");
      Viewer.reveal(lines[number - 1].closest(".scroll"), lines[number - 1]);
      fill(detail, el("div", { class: "sides" }, side(pair.left, one, number - 1), side(pair.right, other, number - 1)));
      fill(status, `Step ${number}: ${pair.how}`);
    };
    return { select, next: (number, by) => Math.min(Math.max(number + by, 0), rows.length) };
  };
})();
