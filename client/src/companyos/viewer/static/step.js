"use strict";
// Details of a step, and its line in the timeline.
(() => {
  const { el } = Viewer;
  const KINDS = {
    carried_out: ["executed", "good"],
    problem: ["rejected", "bad"],
    invalid_call: ["invalid", "bad"],
    planned_fault: ["injected fault", "odd"],
  };

  Viewer.stepStatus = (step) => {
    const [words, tone] = KINDS[step.kind] ?? [step.kind, "plain"];
    return Viewer.badge([step.status, words].filter((part) => part !== null).join(" "), tone);
  };

  Viewer.stepTelling = (step) =>
    `Step ${step.number}, ${step.tool}, ${(KINDS[step.kind] ?? [step.kind])[0]}, reward ${Viewer.signed(step.reward)}`;

  Viewer.rewardBar = (reward, most) => {
    const width = most ? Math.sqrt(Math.abs(reward) / most) * 50 : 0;
    const fill = el("span", { class: `fill ${reward < 0 ? "below" : "above"} ${Viewer.tone(reward)}` });
    fill.style.width = `${width}%`;
    return el("span", { class: "bar", "aria-hidden": "true" }, fill);
  };

  const turned = (step) => step.turned.map((one) =>
    Viewer.badge(`${one.passed ? "\u2713" : "\u2717"} ${Viewer.words(one.id)}`, one.passed ? "good" : "bad"));

  // The short values of a call, such as ids and states.
  const shortArguments = (step) =>
    step.tool === "wait" && step.arguments?.minutes !== undefined ? `${step.arguments.minutes} minutes` : Object.values(step.arguments ?? {}).filter((value) => typeof value !== "object").map(String).filter((value) => value.length <= 24).join(" ").slice(0, 60);

  // What a step did to the row of a check, or why it was refused.
  Viewer.effect = (step, check) => {
    const call = [Viewer.tool(step.tool), " ", el("bdi", { class: "quiet" }, shortArguments(step))];
    if (step.kind !== "carried_out") return [call, `: refused${step.problem === null ? "" : `, ${step.problem}`}`];
    const rows = step.changes.filter((change) => check?.entity === `${change.service}.${change.table}[${change.key}]`);
    const values = rows.flatMap((change) => change.columns.filter((one) => check.expected?.includes(`${one.column}:`)).map((one) =>
      `${Viewer.words(one.column)} ${one.before ?? "none"} \u2192 ${one.after ?? "none"}${change.actor === "agent" ? "" : ", by a colleague"}`));
    return [call, values.length ? `: ${values.join("; ")}` : ""];
  };

  Viewer.timelineLine = (step, href, most) =>
    el("li", {},
      el("a", { href, id: `step-${step.number}`, "data-number": step.number, "data-testid": "timeline-step" },
        el("span", { class: "number" }, step.number),
        el("span", { class: "what" },
          Viewer.tool(step.tool),
          el("bdi", { class: "quiet" }, shortArguments(step)),
          el("span", { class: "marks" }, Viewer.stepStatus(step),
            step.fault !== null && step.kind !== "planned_fault" ? Viewer.badge(`fault: ${Viewer.words(step.fault)}`, "odd") : null,
            step.changes.length ? el("span", { class: "quiet" }, `${Viewer.count(step.changes.length, "row")} changed`) : null,
            step.milliseconds === null ? null : el("span", { class: "quiet" }, `${Math.round(step.milliseconds)} ms`),
            turned(step))),
        el("span", { class: "paid" },
          el("span", { class: `reward ${Viewer.tone(step.reward)}` }, el("span", { class: "unseen" }, "reward "), Viewer.signed(step.reward)),
          Viewer.rewardBar(step.reward, most))));

  const fact = (name, ...value) => el("div", {}, el("dt", {}, name), el("dd", {}, ...value));

  const split = (parts) =>
    parts.length === 1 ? `, ${parts[0].part}` : ` = ${parts.map((part) => `${Viewer.signed(part.paid)} ${part.part}`).join(", ")}`;

  const paid = (step) => [
    el("span", { class: Viewer.tone(step.reward) }, Viewer.signed(step.reward)),
    step.parts === null ? null : el("span", { class: "quiet" }, split(step.parts)),
  ];

  const facts = (step, since) => el("dl", { class: "facts" },
    fact("Status", Viewer.stepStatus(step)),
    fact("Service", step.service ?? "none (episode tool)"),
    step.problem === null ? null : fact("Problem", el("code", {}, step.problem)),
    step.error === null ? null : fact("Rejected by the environment", el("code", {}, step.error.error_type ?? "error")),
    step.fault === null ? null : fact("Injected fault", Viewer.badge(Viewer.words(step.fault), "odd")),
    step.milliseconds === null ? null : fact("Duration", `${step.milliseconds.toFixed(1)} ms`),
    fact("Simulated clock", Viewer.clock(step.now), since ? el("span", { class: "quiet" }, `, ${Viewer.passed(since, step.now)} later`) : null),
    fact("Reward", paid(step)),
    step.turned.length ? fact("Changed checks", el("span", { class: "marks" }, turned(step))) : null);

  const NAMES = { model: "Model", system: "System message", user: "User message", note: "Note" };

  // One message of a conversation, with the reasoning of the model.
  Viewer.message = (one, link = null) => el("div", { class: "message", "data-testid": "said" },
    el("p", { class: "quiet" }, NAMES[one.role] ?? one.role,
      one.calls ? `, ${Viewer.count(one.calls, "call")}` : "",
      one.tokens === null ? "" : `, ${Viewer.count(one.tokens, "token")}`,
      one.seconds === null ? "" : `, ${one.seconds.toFixed(1)} s`,
      link && one.step !== null ? [", ", el("a", { href: link(one.step) }, `step ${one.step}`)] : ""),
    one.thought === null ? null : Viewer.folded("Reasoning", () => el("blockquote", {}, one.thought)),
    one.text ? el("blockquote", {}, one.text) : el("p", { class: "quiet" }, one.role === "model" ? "Tool calls without text." : "No text."));

  const messagesOf = (step, all) => {
    const messages = all.filter((one) => one.step !== null && one.step <= step.number && step.number < one.step + one.calls);
    return messages.length ? el("section", { "aria-label": "Model output" }, el("h3", {}, "Model output"), messages.map((one) => Viewer.message(one))) : null;
  };

  // `since` is the simulated time before the step.
  Viewer.stepDetail = (step, since, buttons = null, messages = []) =>
    el("section", { "aria-label": `Step ${step.number}`, "data-testid": "step" },
      el("header", { class: "stephead" }, el("h2", {}, `Step ${step.number}: `, el("bdi", {}, el("code", {}, step.tool))), buttons),
      facts(step, since),
      messagesOf(step, messages),
      Viewer.changes(step),
      el("div", { class: "exchange" },
        el("section", { "aria-label": "Request" }, el("h3", {}, "Request"), Viewer.json(step.arguments, "Request")),
        el("section", { "aria-label": "Response" }, el("h3", {}, "Response"), Viewer.json(step.error ?? step.result, "Response"))));
})();
