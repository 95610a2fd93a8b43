"use strict";
// The cases of a shift as lanes over simulated time: statuses of the ticket, steps of the agent, comments, due date.
(() => {
  const { el } = Viewer;

  // The newest answer that described a ticket: its title, due date and first status.
  const tickets = (episode, keys) => {
    const found = new Map(keys.map((key) => [key, {}]));
    for (const step of episode.steps) {
      for (const row of [step.result, ...(Array.isArray(step.result?.items) ? step.result.items : [])]) {
        if (found.has(row?.key)) found.set(row.key, { ...found.get(row.key), title: row.title, due: row.due_at ?? found.get(row.key).due });
      }
    }
    return found;
  };

  const column = (change, name) => change.columns.find((one) => one.column === name);

  const changesOf = (episode, table) =>
    episode.steps.flatMap((step) => step.changes.filter((one) => one.table === table && one.service === "ticketdesk").map((one) => ({ ...one, step: step.number })));

  const names = (step, key) => Object.values(step.arguments ?? {}).some((value) => value === key);

  const lane = (episode, key, facts) => {
    const statuses = changesOf(episode, "tickets").filter((one) => one.key === key && column(one, "status"));
    const comments = changesOf(episode, "comments").filter((one) => one.actor !== "agent" && column(one, "ticket_key")?.after === key);
    const steps = episode.steps.filter((step) => names(step, key) || step.turned.some((one) => one.id.startsWith(`${key}:`)));
    const started = { at: episode.started_at, status: column(statuses[0] ?? { columns: [] }, "status")?.before };
    const spans = [started, ...statuses.map((one) => ({ at: one.at, status: column(one, "status").after }))];
    return { key, ...facts, spans, comments, steps };
  };

  const place = (element, from, share, width = null) => {
    element.style.left = `${(100 * share(from)).toFixed(2)}%`;
    if (width !== null) element.style.width = `${(100 * width).toFixed(2)}%`;
    return element;
  };

  const drawing = (one, share, end, link) => el("div", { class: "lane" },
    one.spans.map((span, at) => {
      const until = one.spans[at + 1]?.at ?? end;
      return place(el("span", { class: `span ${span.status ?? "unknown"}`, title: `${Viewer.words(span.status ?? "status not seen")} from ${Viewer.clock(span.at)}` }), span.at, share, share(until) - share(span.at));
    }),
    one.due && new Date(one.due) <= new Date(end) ? place(el("span", { class: "due", title: `due ${Viewer.clock(one.due)}` }), one.due, share) : null,
    one.steps.map((step) => place(el("a", { class: "act", href: link(step.number), title: `step ${step.number}: ${step.tool}`, tabindex: "-1", "aria-hidden": "true" }), step.now, share)),
    one.comments.map((comment) => place(el("a", { class: "said", href: link(comment.step), title: `${Viewer.clock(comment.at)}: ${comment.label}`, "aria-label": `Comment: ${comment.label}` }, "\u25c6"), comment.at, share)));

  const telling = (one) => one.spans.filter((span) => span.status).map((span) => `${Viewer.words(span.status)} ${Viewer.clock(span.at)}`).join(", ");

  // Other cases of the shift that colleagues named under the ticket.
  const related = (one, keys) => {
    const named = keys.filter((key) => key !== one.key && one.comments.some((comment) => column(comment, "body")?.after?.includes(key)));
    return named.length ? el("div", { class: "quiet" }, `comments name ${named.join(", ")}`) : null;
  };

  Viewer.cases = (episode, link) => {
    const verdict = episode.judged?.verdict ?? episode.verdict;
    const keys = Object.keys(verdict?.cases ?? {});
    if (!keys.length || !episode.started_at || !episode.steps.length) return null;
    const facts = tickets(episode, keys);
    const lanes = keys.map((key) => lane(episode, key, facts.get(key)));
    const end = episode.steps[episode.steps.length - 1].now;
    const [from, to] = [episode.started_at, end].map((moment) => new Date(moment).getTime());
    const share = (moment) => Math.min(Math.max((new Date(moment).getTime() - from) / (to - from || 1), 0), 1);
    const rows = lanes.map((one) => el("tr", {},
      el("th", { scope: "row" }, el("bdi", {}, one.key), " ", Viewer.badge(verdict.cases[one.key] ? "solved" : "unsolved", verdict.cases[one.key] ? "good" : "bad"),
        one.title ? el("div", {}, el("bdi", {}, one.title)) : null,
        one.due ? el("div", { class: "quiet" }, `due ${Viewer.clock(one.due)}`) : null, related(one, keys)),
      el("td", {}, drawing(one, share, end, link), el("span", { class: "unseen" }, telling(one)))));
    const solved = keys.filter((key) => verdict.cases[key]).length;
    return el("section", { "aria-label": "Cases", "data-testid": "cases" }, el("h2", {}, "Cases"),
      el("p", {}, `${solved} of ${Viewer.count(keys.length, "case")} solved, ${Viewer.clock(episode.started_at)} to ${Viewer.clock(end)}`),
      el("p", { class: "quiet legend" }, ["open", "in_progress", "blocked", "resolved", "cancelled"].map((status) => [el("span", { class: `span ${status}` }), ` ${Viewer.words(status)} `]),
        el("span", { class: "span" }), " other or not seen ",
        el("span", { class: "act" }), " step ", el("span", { class: "said" }, "\u25c6"), " comment by a colleague ", el("span", { class: "due" }), " due"),
      Viewer.table("Cases over time", ["Case", "Time"], rows, { class: "lanes" }));
  };
})();
