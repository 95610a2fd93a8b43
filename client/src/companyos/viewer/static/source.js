"use strict";
// Where the documents come from: data blocks of the page itself, or addresses that a server names.
(() => {
  const blocks = (kind) => [...document.querySelectorAll(`script.${kind}`)];

  const fetched = async (url) => {
    const answer = await fetch(url, { headers: { Accept: "application/json" } });
    if (!answer.ok) {
      const told = await answer.json().catch(() => ({}));
      throw new Error(told.title || told.detail || `${url} answers ${answer.status}`);
    }
    return answer.json();
  };

  const embedded = () => {
    const run = JSON.parse(blocks("viewer-run")[0].textContent);
    return {
      run: async () => run,
      episode: async (facts) => {
        const found = blocks("viewer-episode").find((block) => block.dataset.name === facts.name);
        if (!found) throw new Error(`This page does not hold ${facts.name}.`);
        return JSON.parse(found.textContent);
      },
    };
  };

  const served = (asked) => ({
    run: async () => {
      if (asked.run) return fetched(asked.run);
      const document_ = await fetched(asked.episode);
      const facts = { ...document_.facts, document: asked.episode, events: asked.events ?? document_.facts.events };
      return { title: Viewer.title(facts), episodes: [facts], faults: [] };
    },
    episode: (facts) => fetched(facts.document),
  });

  Viewer.source = () => {
    const [asked] = blocks("viewer-source");
    const source = asked ? served(JSON.parse(asked.textContent)) : embedded();
    const kept = new Map();
    return {
      run: source.run,
      // An episode is read once; one that goes on is kept up to date by its events.
      episode: (facts) => {
        if (!kept.has(facts.name)) {
          const reading = source.episode(facts);
          kept.set(facts.name, reading);
          reading.catch(() => kept.delete(facts.name));
        }
        return kept.get(facts.name);
      },
      judged: (facts) => fetched(facts.judged),
    };
  };

  // Merge what judging again says into an episode.
  Viewer.mergeJudged = (episode, judged) => {
    episode.judged = judged;
    const byNumber = new Map(judged.steps.map((one) => [one.number, one]));
    for (const step of episode.steps) {
      const one = byNumber.get(step.number);
      if (!one) continue;
      step.parts = step.parts ?? one.parts;
      if (!step.turned.length) step.turned = one.turned;
    }
  };

  // Follow an episode that goes on. Events: `step` (a Step), `episode` and `end` (fields of the EpisodeDocument), `again`.
  Viewer.follow = (url, episode, onChange) => {
    const after = episode.steps.length ? episode.steps[episode.steps.length - 1].number : 0;
    const events = new EventSource(`${url}${url.includes("?") ? "&" : "?"}after=${after}`);
    const merge = (event) => {
      const { steps: _steps, format: _format, facts, ...fields } = JSON.parse(event.data);
      if (fields.verdict && !fields.reasons) fields.reasons = []; // those of the verdict before
      Object.assign(episode, fields, facts ? { facts: { ...episode.facts, ...facts } } : {});
      onChange(null);
    };
    events.addEventListener("step", (event) => {
      const step = JSON.parse(event.data);
      const at = episode.steps.findIndex((one) => one.number >= step.number);
      if (at < 0) episode.steps.push(step);
      else episode.steps.splice(at, episode.steps[at].number === step.number ? 1 : 0, step);
      onChange(step);
    });
    events.addEventListener("episode", merge);
    // The episode stands elsewhere than this page knows: it was restored to an earlier step.
    events.addEventListener("again", () => {
      events.close();
      location.reload();
    });
    events.addEventListener("end", (event) => {
      events.close();
      merge(event);
    });
    return () => events.close();
  };
})();
