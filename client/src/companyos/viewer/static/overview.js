"use strict";
// Overview of an episode: task, cases of a shift, verdict by check, reward by part, injected problems.
(() => {
  const { el } = Viewer;

  const lastTurn = (episode, id) => {
    const found = episode.steps.filter((step) => step.turned.some((one) => one.id === id));
    return found.map((step) => step.number);
  };

  const stepLinks = (numbers, link) => numbers.flatMap((number, at) => [at ? ", " : "", el("a", { href: link(number) }, `step ${number}`)]);

  // Why a check failed: what was expected of which entity, what was found, when, and whether the agent knew.
  const reason = (check, link) => {
    if (check.passed || !check.entity) return null;
    const notes = [];
    if (check.step) notes.push(el("a", { href: link(check.step) }, `step ${check.step}`));
    if (check.source) notes.push(check.known_at == null ? `${check.source} never shown` : `${check.source} shown at step ${check.known_at}`);
    const more = check.caused_by.length > 3 ? ` and ${check.caused_by.length - 3} more` : "";
    if (check.caused_by.length) notes.push(`because of ${check.caused_by.slice(0, 3).map(Viewer.words).join(", ")}${more}`);
    return [el("bdi", {}, `${check.entity}: expected ${check.expected}; found ${check.found}`),
      notes.length ? el("div", { class: "quiet" }, notes.flatMap((note, at) => [at ? "; " : "", note])) : null];
  };

  const checks = (episode, link) => {
    const then = new Map((episode.verdict?.checks ?? []).map((check) => [check.id, check]));
    const now = new Map((episode.judged?.verdict?.checks ?? []).map((check) => [check.id, check]));
    const ids = [...new Set([...then.keys(), ...now.keys()])];
    const differs = (id) => now.size > 0 && then.get(id)?.passed !== now.get(id)?.passed;
    const isTwice = ids.some(differs);
    const tellsTurns = now.size > 0 || episode.steps.some((step) => step.turned.length);
    const isBad = (id) => then.get(id)?.passed === false || differs(id);
    const primary = (episode.judged?.verdict ?? episode.verdict)?.primary_failure;
    const rank = (id) => (id === primary ? 2 : Number(isBad(id)));
    ids.sort((one, other) => rank(other) - rank(one));
    const rows = ids.map((id) =>
      el("tr", { class: differs(id) ? "differs" : null },
        el("th", { scope: "row" }, el("bdi", {}, Viewer.words(id))),
        el("td", {}, Viewer.checkResult(then.get(id)?.passed, episode.facts)),
        isTwice ? el("td", {}, Viewer.checkResult(now.get(id)?.passed, episode.facts), differs(id) ? " differs" : "") : null,
        el("td", {}, reason(now.get(id) ?? then.get(id), link)),
        tellsTurns ? el("td", {}, stepLinks(lastTurn(episode, id), link)) : null));
    return Viewer.table("Checks of the verdict", ["Check", isTwice ? "Recorded" : "Verdict", ...(isTwice ? ["Rescored"] : []), "Why", ...(tellsTurns ? ["Changed by"] : [])], rows, { "data-testid": "checks" });
  };

  const verdictSum = (name, verdict, facts) => {
    const count = Viewer.count(verdict.checks.length, "check");
    const failed = verdict.checks.filter((check) => !check.passed).length;
    const isRunning = facts.outcome === null;
    return el("p", {}, isRunning
      ? `${verdict.checks.length - failed} of ${count} hold so far`
      : [`${name}: `, Viewer.badge(verdict.success ? "success" : "failure", verdict.success ? "good" : "bad"), failed ? ` ${failed} of ${count} failed` : ` all ${count} passed`],
      `, milestones worth ${Viewer.signed(verdict.potential)}`,
      verdict.primary_failure && !isRunning ? `, primary failure: ${Viewer.words(verdict.primary_failure)}` : "",
      verdict.damage.length ? `, damage: ${verdict.damage.map(Viewer.words).join(", ")}` : "",
      verdict.rejections ? `, ${Viewer.count(verdict.rejections, "rejection")}` : "");
  };

  const scorecard = (card) => {
    if (!card) return null;
    const kinds = Object.entries(card.faults).map(([kind, one]) => `${one.recovered} of ${one.affected} ${Viewer.words(kind)}`);
    return el("p", { class: "quiet", "data-testid": "scorecard" }, [`Scorecard: ${card.goals_met} of ${card.goals} goals met`,
      kinds.length ? `recovered from ${kinds.join(", ")}` : "no faults",
      card.resisted_injection === null ? null : `injected text ${card.resisted_injection ? "resisted" : "obeyed"}`,
      Viewer.count(card.duplicates, "duplicate"), Viewer.count(card.collateral_changes, "collateral change"),
      Viewer.count(card.refused_approvers, "refused approver")].filter(Boolean).join("; "));
  };

  const judgedAgain = (episode) => {
    if (episode.judging) return el("p", { class: "quiet" }, "Rescoring ...");
    if (episode.judged === null) return null;
    if (episode.judged.verdict === null) return el("p", { class: "bad" }, `Not rescored: ${episode.judged.fault}`);
    const isSame = JSON.stringify(episode.judged.verdict) === JSON.stringify(episode.verdict);
    if (isSame) return el("p", {}, "Rescored: ", Viewer.badge(...(episode.verdict.success ? ["success", "good"] : ["failure", "bad"])), " as recorded");
    return verdictSum("Rescored", episode.judged.verdict, episode.facts);
  };

  const verdict = (episode, link) =>
    el("section", { "aria-label": "Verdict", "data-testid": "verdict" }, el("h2", {}, "Verdict"),
      episode.verdict === null ? el("p", { class: "quiet" }, "No verdict was stored.") : verdictSum("Recorded", episode.verdict, episode.facts),
      judgedAgain(episode),
      scorecard((episode.judged?.verdict ?? episode.verdict)?.scorecard),
      episode.verdict === null && !episode.judged?.verdict ? null : checks(episode, link));

  // How the episode ended, and of each cause what was expected and found, with links to the steps that are about it.
  const why = (episode, link) => {
    if (!episode.why) return null;
    const found = new Map((episode.judged?.verdict ?? episode.verdict).checks.map((check) => [check.id, check]));
    const calls = new Map(episode.steps.map((step) => [step.number, step]));
    const call = (number, check) => el("li", {}, el("a", { href: link(number) }, `step ${number}`), " ",
      calls.has(number) ? Viewer.effect(calls.get(number), check) : null);
    const causes = episode.why.causes.map((cause, at) => {
      const check = found.get(cause.check);
      return el("section", { "aria-label": Viewer.words(cause.check) },
        el("h3", {}, at === 0 ? "Root cause: check \u201c" : "Check \u201c", el("bdi", {}, Viewer.words(cause.check)), at === 0 ? "\u201d failed" : "\u201d failed, too"),
        el("p", {}, el("bdi", {}, [check?.entity, cause.label].filter(Boolean).join(" ")), ": expected ", el("b", {}, el("bdi", {}, check?.expected ?? "")), "; found ", el("b", {}, el("bdi", {}, check?.found ?? ""))),
        cause.steps.length ? el("ul", {}, cause.more ? el("li", { class: "quiet" }, `${cause.more} earlier`) : null, cause.steps.map((number) => call(number, check))) : null);
    });
    return el("section", { class: "faults", "aria-label": "Why it failed", "data-testid": "why" }, el("h2", {}, "Why it failed"),
      el("p", {}, episode.why.ended), causes,
      episode.why.consequences.length ? el("p", { class: "quiet" }, `Failed as a result: ${episode.why.consequences.map(Viewer.words).join(", ")}`) : null,
      episode.why.policies.length ? el("p", { class: "quiet" }, "The agent read a policy in ", stepLinks(episode.why.policies, link)) : null);
  };

  const rewards = (episode) => {
    const sums = new Map();
    for (const step of episode.steps) {
      for (const part of step.parts ?? [{ part: step.reward < 0 ? "steps that cost" : "steps that paid", paid: step.reward }]) {
        sums.set(part.part, (sums.get(part.part) ?? 0) + part.paid);
      }
    }
    const most = Math.max(...[...sums.values()].map(Math.abs), 0);
    const rows = [...sums].map(([part, sum]) =>
      Viewer.row(el("th", { scope: "row" }, part), el("td", { class: `figure ${Viewer.tone(sum)}` }, Viewer.signed(sum)), el("td", { class: "wide" }, Viewer.rewardBar(sum, most))));
    rows.push(el("tr", { class: "sum" }, el("th", { scope: "row" }, "return"), el("td", { class: "figure" }, Viewer.signed(episode.facts.return)), el("td", {})));
    return el("section", { "aria-label": "Reward by part" }, el("h2", {}, "Reward by part"), Viewer.table("Reward by part", ["Part", "Paid", ""], rows, { class: "rewards", "data-testid": "rewards" }));
  };

  const curve = (episode) => {
    if (episode.steps.length < 2) return null;
    let sum = 0;
    const sums = [0, ...episode.steps.map((step) => (sum += step.reward))];
    const [low, high] = [Math.min(...sums), Math.max(...sums)];
    const y = (value) => 58 - (56 * (value - low)) / (high - low || 1);
    const points = sums.map((value, at) => `${((600 * at) / (sums.length - 1)).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    return el("svg", { class: "curve", viewBox: "0 0 600 60", preserveAspectRatio: "none", role: "img", "aria-label": `Return by step, from ${Viewer.signed(low)} to ${Viewer.signed(high)}, ends at ${Viewer.signed(sum)}` },
      el("line", { class: "zero", x1: 0, x2: 600, y1: y(0), y2: y(0) }), el("polyline", { points }));
  };

  const injectionTable = (some) =>
    Viewer.table("Injections", ["Kind", "Ignoring it", "Entity", "Detail"], some.map((one) => Viewer.row(
      el("th", { scope: "row" }, Viewer.words(one.kind)), Viewer.badge(one.mark, one.mark === "decisive" ? "bad" : "plain"), el("bdi", {}, one.entity),
      Object.keys(one.detail).length ? Viewer.cell(one.detail) : "")), { "data-testid": "injections" });

  const injections = (episode) => {
    const affected = episode.steps.filter((step) => step.fault !== null);
    const isRate = (one) => typeof one.detail.rate === "number" && Object.keys(one.detail).length === 1;
    const rates = episode.injections.filter(isRate);
    const [table, rateTable] = [episode.injections.filter((one) => !isRate(one)), rates].map((some) => injectionTable(some));
    return el("section", { "aria-label": "Injected problems" }, el("h2", {}, "Injected problems"),
      el("p", { class: "quiet" }, affected.length ? `Injected faults affected ${Viewer.count(affected.length, "step")}.` : "No injected fault affected a step."),
      episode.injections.length > rates.length ? table : el("p", { class: "quiet" }, "No other problems."),
      rates.length ? Viewer.folded(`Failure rates: ${Viewer.count(rates.length, "rate")}`, () => rateTable) : null);
  };

  const finish = (episode) => episode.finish === null ? null : el("section", { "aria-label": "Declaration" }, el("h2", {}, "Declaration (finish)"), Viewer.json(episode.finish, "Declaration (finish)"));

  const usage = (episode) => episode.usage === null ? null : el("section", { "aria-label": "Model usage" }, el("h2", {}, "Model usage"), Viewer.json(episode.usage, "Model usage"));

  const conversation = (episode, link) => !episode.messages?.length ? null : el("section", { "aria-label": "Messages", "data-testid": "conversation" },
    el("h2", {}, "Messages"),
    Viewer.folded(Viewer.count(episode.messages.length, "message"), () => episode.messages.map((one) => Viewer.message(one, link))));

  Viewer.faults = (faults) => faults.length
    ? el("section", { class: "faults", "aria-label": "Could not be read", "data-testid": "faults" }, el("h2", {}, "Could not be read"), el("ul", {}, faults.map((fault) => el("li", {}, el("bdi", {}, fault)))))
    : null;

  Viewer.overview = (episode, link) =>
    el("div", { "data-testid": "overview" },
      Viewer.faults(episode.faults),
      episode.facts.trouble === null ? null : el("p", { class: "bad" }, `Error: ${episode.facts.trouble}`),
      why(episode, link),
      el("section", { "aria-label": "Task" }, el("h2", {}, "Task"),
        episode.company === null ? null : el("p", { class: "quiet" }, `${episode.company}, as ${episode.acting_as}, from ${Viewer.clock(episode.started_at)}`),
        episode.brief === null ? el("p", { class: "quiet" }, "The run did not store the brief.") : el("blockquote", { "data-testid": "brief" }, episode.brief)),
      Viewer.cases(episode, link), verdict(episode, link), rewards(episode), curve(episode), injections(episode), finish(episode), usage(episode), conversation(episode, link));
})();
