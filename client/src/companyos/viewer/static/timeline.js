"use strict";
// Timeline of an episode: search, filters and collapsed reads.
(() => {
  const { el, fill } = Viewer;
  const MIN_COLLAPSED = 3;
  const texts = new WeakMap();

  const isWrite = (step) => step.changes.some((change) => change.actor === "agent");
  const isProblem = (step) => step.kind !== "carried_out";
  const FILTERS = { All: () => true, Writes: isWrite, Problems: isProblem };

  // A read has no effect: no problem, no fault, no changed row or check. Episode tools such as `wait` are not reads.
  const isRead = (step) =>
    step.service !== null && !isProblem(step) && step.fault === null && !step.changes.length && !step.turned.length && !step.done;

  const textOf = (step) => {
    if (!texts.has(step)) texts.set(step, JSON.stringify([step.tool, step.arguments, step.result, step.error, step.problem]).toLowerCase());
    return texts.get(step);
  };

  // Lists of steps in order: reads in a row together, other steps alone.
  const groups = (steps) => {
    const found = [];
    for (const step of steps) {
      const last = found[found.length - 1];
      if (last && isRead(step) && isRead(last[0])) last.push(step);
      else found.push([step]);
    }
    return found;
  };

  // `current()` is the number of the selected step, 0 for the overview.
  Viewer.timeline = (episode, link, current) => {
    const state = { filter: "All", text: "", opened: new Set() };
    const list = el("ol", { class: "timeline", "data-testid": "timeline" });
    const status = el("p", { role: "status", class: "quiet", "data-testid": "matches" });
    const search = el("input", { type: "search", "aria-label": "Search steps", placeholder: "Search steps", oninput: () => { state.text = search.value.trim().toLowerCase(); draw(); } });
    const buttons = Object.keys(FILTERS).map((name) => el("button", { type: "button", onclick: () => { state.filter = name; draw(); } }, name));
    const isFiltered = () => state.filter !== "All" || state.text !== "";
    const matching = () => episode.steps.filter((step) => FILTERS[state.filter](step) && (state.text === "" || textOf(step).includes(state.text)));
    const shown = () => (isFiltered() ? matching().map((step) => [step]) : groups(episode.steps));
    const isOpen = (group) => group.length < MIN_COLLAPSED || state.opened.has(group[0].number);

    const toggle = (group) => {
      const first = group[0].number;
      if (!state.opened.delete(first)) state.opened.add(first);
      draw();
    };

    const summary = (group) => {
      const [first, last] = [group[0].number, group[group.length - 1].number];
      return el("li", {}, el("button", {
        type: "button", class: "reads", "data-group": first, "data-testid": "reads", "aria-expanded": String(isOpen(group)), onclick: () => toggle(group),
      }, el("span", { class: "number" }, isOpen(group) ? "\u25be" : "\u25b8"), Viewer.count(group.length, "read"), el("span", { class: "quiet" }, ` steps ${first} to ${last}`)));
    };

    const mark = () => {
      list.querySelector("a[aria-current]")?.removeAttribute("aria-current");
      list.querySelector(`a[data-number="${current()}"]`)?.setAttribute("aria-current", "step");
    };

    const draw = () => {
      const { number, group: first } = list.contains(document.activeElement) ? document.activeElement.dataset : {};
      const most = Math.max(...episode.steps.map((step) => Math.abs(step.reward)), 0);
      const start = el("li", {}, el("a", { href: link(0), "data-number": 0 }, el("span", { class: "number" }, ""), el("span", { class: "what" }, el("b", {}, "Overview"), el("span", { class: "quiet" }, "task, verdict, reward, injected problems"))));
      fill(list, start, shown().map((group) => [
        group.length < MIN_COLLAPSED ? null : summary(group),
        isOpen(group) ? group.map((step) => Viewer.timelineLine(step, link(step.number), most)) : null]));
      mark();
      list.querySelector(number ? `[data-number="${number}"]` : `[data-group="${first}"]`)?.focus({ preventScroll: true });
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.textContent === state.filter)));
      fill(status, isFiltered() ? `${matching().length} of ${Viewer.count(episode.steps.length, "step")} match` : "");
    };

    // Make a step visible: its reads stay expanded, and a filter that hides it is cleared.
    const reveal = (number) => {
      const step = episode.steps.find((one) => one.number === number);
      const isHidden = step !== undefined && !matching().includes(step);
      if (isHidden) {
        Object.assign(state, { filter: "All", text: "" });
        search.value = "";
      }
      const first = step && isRead(step) ? groups(episode.steps).find((group) => group.includes(step))[0].number : undefined;
      const isExpanded = first !== undefined && !state.opened.has(first);
      if (isExpanded) state.opened.add(first);
      if (isHidden || isExpanded) draw();
      else mark();
      Viewer.reveal(list.parentElement, list.querySelector("a[aria-current]"));
    };

    // The number of the next visible step in a direction: 1, -1, or infinite for the first and the last one.
    const next = (number, by) => {
      const visible = [0, ...shown().filter(isOpen).flat().map((step) => step.number)];
      if (!Number.isFinite(by)) return by < 0 ? 0 : visible[visible.length - 1];
      return (by > 0 ? visible.find((one) => one > number) : visible.findLast((one) => one < number)) ?? number;
    };

    const element = el("div", { class: "side" },
      el("form", { class: "stepfilter", role: "search", onsubmit: (event) => event.preventDefault() },
        search, el("div", { role: "group", "aria-label": "Filter steps" }, buttons), status),
      el("nav", { class: "steps", "aria-label": "Steps", "data-testid": "steps" }, list));
    draw();
    return { element, draw, reveal, next, isVisible: (step) => matching().includes(step) };
  };
})();
