"use strict";
// Sources of the documents: data blocks embedded in the page, or URLs of a server.
(() => {
  const blocks = (kind) => [...document.querySelectorAll(`script.${kind}`)];

  const fetched = async (url) => {
    const response = await fetch(url, { headers: { Accept: "application/json" } });
    if (!response.ok) {
      const problem = await response.json().catch(() => ({}));
      throw new Error(problem.title || problem.detail || `${url} returned ${response.status}`);
    }
    return response.json();
  };

  const embedded = () => {
    const run = JSON.parse(blocks("viewer-run")[0].textContent);
    return {
      run: async () => run,
      episode: async (facts) => {
        const block = blocks("viewer-episode").find((candidate) => candidate.dataset.name === facts.name);
        if (!block) throw new Error(`This page does not contain ${facts.name}.`);
        return JSON.parse(block.textContent);
      },
    };
  };

  const served = (addresses) => ({
    run: async () => {
      if (addresses.run) return fetched(addresses.run);
      const document_ = await fetched(addresses.episode);
      const facts = { ...document_.facts, document: addresses.episode, events: addresses.events ?? document_.facts.events };
      return { title: Viewer.title(facts), episodes: [facts], faults: [] };
    },
    episode: (facts) => fetched(facts.document),
  });

  Viewer.source = () => {
    const [block] = blocks("viewer-source");
    const source = block ? served(JSON.parse(block.textContent)) : embedded();
    const kept = new Map();
    return {
      run: source.run,
      // An episode is fetched once; events keep a live one up to date.
      episode: (facts) => {
        if (!kept.has(facts.name)) {
          const reading = source.episode(facts);
          kept.set(facts.name, reading);
          reading.catch(() => kept.delete(facts.name));
        }
        return kept.get(facts.name);
      },
      judged: (facts) => fetched(facts.judged),
      screenshots: (address) => fetched(address),
    };
  };

  // Merge the result of rescoring into an episode.
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

  // Follow a live episode. Events: `step` (a Step), `episode` and `end` (fields of the EpisodeDocument), `again`.
  // The reasons for a failure are read from the document, at `address`, once the episode has ended.
  Viewer.follow = (url, address, episode, onChange) => {
    const after = episode.steps.length ? episode.steps[episode.steps.length - 1].number : 0;
    const events = new EventSource(`${url}${url.includes("?") ? "&" : "?"}after=${after}`);
    const merge = (event) => {
      const { steps: _steps, format: _format, facts, ...fields } = JSON.parse(event.data);
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
    // The episode was restored to an earlier step.
    events.addEventListener("again", () => {
      events.close();
      location.reload();
    });
    events.addEventListener("end", async (event) => {
      events.close();
      merge(event);
      episode.why = (await fetched(address).catch(() => ({ why: null }))).why;
      onChange(null);
    });
    return () => events.close();
  };
})();
