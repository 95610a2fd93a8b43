"use strict";
// Strip of an episode's screenshots: each leads to the step after which it was taken.
(() => {
  const { el } = Viewer;

  Viewer.screenshotStrip = (link) => {
    const list = el("ol", {});
    const box = el("div", { class: "strip", tabindex: "0", role: "region", "aria-label": "Screenshots", "data-testid": "screenshots", hidden: true }, list);

    const entry = ({ step, url }) => {
      const name = step === 0 ? "Start" : `Step ${step}`;
      return el("li", {}, el("a", { href: link(step), "data-step": step }, el("img", { src: url, alt: "", loading: "lazy", width: 256, height: 160 }), el("span", {}, name)));
    };

    // Show the screenshots; those that are shown already stay as they are. Return whether there are new ones.
    const draw = (screenshots) => {
      const shown = new Set([...list.querySelectorAll("img")].map((one) => one.getAttribute("src")));
      const added = screenshots.filter((one) => !shown.has(one.url));
      list.append(...added.map(entry));
      box.hidden = list.childElementCount === 0;
      return added.length > 0;
    };

    // Mark the last screenshot up to a step and scroll the strip to it.
    const mark = (number) => {
      list.querySelector("a[aria-current]")?.removeAttribute("aria-current");
      const shown = [...list.querySelectorAll("a")].findLast((one) => Number(one.dataset.step) <= number);
      if (!shown) return;
      shown.setAttribute("aria-current", "step");
      const [outer, inner] = [box.getBoundingClientRect(), shown.getBoundingClientRect()];
      box.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2;
    };

    return { element: box, draw, mark };
  };
})();
