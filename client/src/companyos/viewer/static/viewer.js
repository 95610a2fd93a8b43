"use strict";
// The page: shows the view of the URL fragment; keys move through the steps.
(() => {
  const { el, fill } = Viewer;
  const root = document.getElementById("viewer");
  const source = Viewer.source();
  const shown = { key: null, view: null, step: 0, stop: null };
  const LAST_SCREENSHOT_MS = 3000; // the screenshot of the last step is taken after the step has ended
  let run = null;

  Viewer.link = (route) =>
    `#${Object.entries(route).filter(([, value]) => value !== undefined && value !== null).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;

  // `#episode=NAME&step=7`, `#episode=A&with=B`, `#failed=CHECK&policy=NAME` for the list, or `#step-7` of the current episode, else of the run's only one.
  const route = () => {
    const fragment = location.hash.slice(1);
    const lone = /^step-(\d+)$/.exec(fragment);
    if (lone) return { episode: shown.view?.name ?? (run.episodes.length === 1 ? run.episodes[0].name : undefined), with: shown.view?.other, step: Number(lone[1]) };
    const fields = Object.fromEntries(new URLSearchParams(fragment.replaceAll("+", "%2B")));
    const only = run.episodes.length === 1 && fields.episode === undefined ? run.episodes[0].name : fields.episode;
    return { ...fields, episode: only, step: Number.parseInt(fields.step ?? "0", 10) || 0 };
  };

  const failure = (error) => {
    fill(root, el("nav", { "aria-label": "Way back" }, el("a", { href: "#" }, "All episodes")),
      el("section", { class: "faults", role: "alert" }, el("h1", {}, "Cannot show this page"), el("p", {}, error.message)));
  };

  const read = async (name) => {
    const facts = run.episodes.find((one) => one.name === name);
    if (!facts) throw new Error(`Unknown episode ${name}.`);
    const episode = await source.episode(facts);
    return { episode, facts };
  };

  const judge = async ({ episode, facts }, refresh) => {
    if (episode.judged !== null || episode.judging || !facts.judged) return;
    episode.judging = true;
    try {
      Viewer.mergeJudged(episode, await source.judged(facts));
    } catch (error) {
      episode.judged = { verdict: null, steps: [], fault: error.message };
    }
    episode.judging = false;
    refresh();
  };

  const usage = (used) => used === null ? null : [
    el("span", {}, "model ", el("b", {}, el("bdi", {}, used.model))),
    el("span", { "data-testid": "tokens" }, "tokens ", el("b", {}, (used.prompt_tokens + used.completion_tokens).toLocaleString("en")),
      ` (${used.prompt_tokens.toLocaleString("en")} prompt, ${used.completion_tokens.toLocaleString("en")} completion)`, used.unmetered ? `, ${Viewer.count(used.unmetered, "response")} not counted` : ""),
    used.cost === null ? null : el("span", { "data-testid": "cost" }, "cost ", el("b", {}, Viewer.cost(used.cost)))];

  const episodeView = ({ episode, facts }) => {
    const name = facts.name;
    const link = (number) => Viewer.link({ episode: name, step: number });
    const timeline = Viewer.timeline(episode, link, () => shown.step);
    const detail = el("div", { class: "detail", "data-testid": "detail" });
    const head = el("header", { class: "top" });
    const strip = Viewer.screenshotStrip(link);
    const status = el("p", { role: "status", class: "unseen" });
    const others = run.episodes.filter((one) => one.name !== name);
    const sameTask = others.filter((one) => one.scenario === facts.scenario && one.seed === facts.seed);
    const choose = el("select", { "aria-label": "Compare with", onchange: (event) => { if (event.target.value) location.hash = Viewer.link({ episode: name, with: event.target.value }); } },
      el("option", { value: "" }, "Compare with ..."), [...sameTask, ...others.filter((one) => !sameTask.includes(one))].slice(0, 200).map((one) => el("option", { value: one.name }, one.name)));
    fill(root, el("nav", { class: "way", "aria-label": "Way back" }, run.episodes.length > 1 ? [el("a", { href: "#" }, "All episodes"), choose] : null),
      head, strip.element, status, el("div", { class: "columns" }, timeline.element, detail));
    const drawHead = () => {
      const now = episode.steps[shown.step - 1]?.now ?? (shown.step === 0 ? episode.started_at : null);
      fill(head, el("h1", {}, el("bdi", {}, Viewer.title(episode.facts))),
        episode.brief === null ? null : el("p", { "data-testid": "lead" }, el("bdi", {}, Viewer.firstSentence(episode.brief))),
        el("p", { class: "chips" }, Viewer.outcome(episode.facts),
          episode.facts.outcome !== null && episode.facts.failed.length ? el("span", {}, `${Viewer.count(episode.facts.failed.length, "check")} failed`) : null,
          el("span", {}, "return ", el("b", {}, Viewer.signed(episode.facts.return))),
          el("span", {}, Viewer.count(episode.steps.length, "step"), episode.max_steps === null ? "" : ` of at most ${episode.max_steps}`),
          usage(episode.usage),
          now ? el("span", { "data-testid": "clock" }, "clock ", el("time", { datetime: now }, Viewer.clock(now))) : null,
          episode.facts.scenario === null ? null : el("code", { class: "quiet id", "data-testid": "id" }, episode.facts.name)));
    };
    const position = (number) => episode.steps.findIndex((step) => step.number === number);
    const buttons = () => el("span", { class: "moves" }, [["Previous", -1], ["Next", 1]].map(([title, by]) => {
      const to = timeline.next(shown.step, by);
      return el("button", { type: "button", disabled: to === shown.step, onclick: () => { location.hash = link(to); } }, title);
    }));
    const showDetail = () => {
      const at = position(shown.step);
      const step = episode.steps[at];
      fill(detail, step === undefined ? Viewer.overview(episode, link) : Viewer.stepDetail(step, episode.steps[at - 1]?.now ?? episode.started_at, buttons(), episode.messages));
      drawHead();
      fill(status, step === undefined ? "Overview" : Viewer.stepTelling(step));
    };
    const select = (number) => {
      shown.step = position(number) < 0 ? 0 : number;
      timeline.reveal(shown.step);
      strip.mark(shown.step);
      showDetail();
    };
    const loadScreenshots = async () => {
      if (!episode.facts.screenshots) return;
      if (strip.draw(await source.screenshots(episode.facts.screenshots).catch(() => []))) strip.mark(shown.step);
    };
    const refresh = () => { timeline.draw(); showDetail(); };
    loadScreenshots();
    judge({ episode, facts }, () => { if (shown.view?.name === name) refresh(); });
    if (facts.events && episode.facts.outcome === null) {
      shown.stop = Viewer.follow(facts.events, facts.document, episode, (step) => {
        Object.assign(facts, { ...episode.facts, document: facts.document, judged: facts.judged, events: facts.events });
        const last = episode.steps[episode.steps.length - 1];
        const follows = step !== null && step === last && timeline.isVisible(step) && shown.step === (episode.steps[episode.steps.length - 2]?.number ?? 0);
        refresh();
        loadScreenshots();
        if (episode.facts.outcome !== null) setTimeout(loadScreenshots, LAST_SCREENSHOT_MS);
        if (follows) location.replace(link(step.number));
      });
    }
    return { name, select, next: timeline.next, link };
  };

  const comparisonView = (one, other) => {
    const names = { name: one.facts.name, other: other.facts.name };
    const link = (number) => Viewer.link({ episode: names.name, with: names.other, step: number });
    for (const side of [one, other]) judge(side, () => { if (shown.view?.other === names.other && shown.view.name === names.name) shown.view.select(shown.step); });
    return { ...Viewer.comparison(root, one.episode, other.episode), ...names, link };
  };

  const show = async () => {
    const target = route();
    const key = JSON.stringify([target.episode, target.with]);
    const report = document.getElementById("report");
    if (report) report.hidden = location.hash.includes("episode=");
    if (target.episode === undefined) {
      leave();
      Viewer.runList(root, run, target);
      document.title = run.title;
      return;
    }
    if (key !== shown.key) {
      const pair = await Promise.all([target.episode, target.with].filter((name) => name !== undefined).map(read));
      if (JSON.stringify([route().episode, route().with]) !== key) return;
      leave();
      shown.step = target.step;
      shown.view = pair.length === 2 ? comparisonView(...pair) : episodeView(pair[0]);
      shown.key = key;
      document.title = `${pair.map((one) => Viewer.title(one.facts)).join(" and ")} - ${run.title}`;
    }
    shown.step = target.step;
    shown.view.select(target.step);
  };

  const leave = () => {
    if (shown.stop) shown.stop();
    Object.assign(shown, { key: null, view: null, step: 0, stop: null });
  };

  const KEYS = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

  const isElsewhere = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return true;
    return event.key.length > 1 && event.target.closest("[role=region]") !== null; // arrow keys scroll a focused box
  };

  document.addEventListener("keydown", (event) => {
    const by = KEYS[event.key];
    if (by === undefined || shown.view === null || isElsewhere(event)) return;
    event.preventDefault();
    const to = shown.view.next(shown.step, by);
    if (to === shown.step) return;
    shown.step = to; // the next key may arrive before the URL has changed
    location.hash = shown.view.link(to);
  });

  const start = async () => {
    try {
      run = run ?? (await source.run());
      await show();
    } catch (error) {
      leave();
      failure(error);
    }
  };
  window.addEventListener("hashchange", start);
  start();
})();
