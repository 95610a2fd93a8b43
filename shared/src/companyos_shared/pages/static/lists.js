// Progressive enhancement of lists: sorting, Previous and Next, and suggestions for IDs. No request is sent:
// suggestions come from pages that this tab has shown.
"use strict";
(() => {
  const [APP, EPISODE] = ["[data-testid=app-title]", "[data-testid=app-home]"].map((link) => document.querySelector(link)?.pathname ?? "/");
  const ID = /^(E|[A-Z]{2,6})-\d{1,8}$/;
  const MAX_IDS = 500;

  const stored = (name) => JSON.parse(sessionStorage.getItem(name) ?? "[]");
  const store = (name, value) => sessionStorage.setItem(name, JSON.stringify(value));

  // Previous and Next: the neighbours of this page in the list that was shown last.
  const link = (text, path) => Object.assign(document.createElement("a"), { className: "btn", textContent: text, href: path, title: path.split("/").pop() });
  const paths = stored(`list ${APP}`), here = paths.indexOf(location.pathname);
  const actions = document.querySelector(".page-header .col-auto");
  if (here >= 0 && actions) {
    const nav = Object.assign(document.createElement("nav"), { className: "neighbours", ariaLabel: "List" });
    if (here > 0) nav.append(link("Previous", paths[here - 1]));
    nav.append(` ${here + 1} of ${paths.length} `);
    if (here < paths.length - 1) nav.append(link("Next", paths[here + 1]));
    actions.prepend(nav);
  }

  // Sorting: a click on a column head sorts the rows shown, a second one the other way around.
  const valueOf = (row, column) => {
    const cell = row.cells[column], text = cell.dataset.sort ?? cell.innerText.trim();
    return text === "" || isNaN(text) ? text : Number(text);
  };
  const isEmpty = (value) => value === "" || value === "-";
  const compare = (one, other) => {
    if (isEmpty(one) || isEmpty(other)) return null;
    if (typeof one === "number" && typeof other === "number") return one - other;
    return String(one).localeCompare(String(other), "en", { numeric: true });
  };
  const sort = (table, head) => {
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, value: valueOf(row, head.cellIndex) }));
    rows.sort((one, other) => {
      const order = compare(one.value, other.value);
      return order === null ? isEmpty(one.value) - isEmpty(other.value) : sign * order;
    });
    table.tBodies[0].append(...rows.map(({ row }) => row));
    for (const cell of head.parentElement.cells) cell.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    remember(table);
  };
  const remember = (table) => {
    const paths = [...table.tBodies[0].rows].map((row) => row.querySelector("a")?.pathname).filter(Boolean);
    store(`list ${APP}`, paths);
  };
  for (const table of document.querySelectorAll("table[data-list]")) {
    remember(table);
    if (table.tBodies[0].rows.length < 2) continue;
    for (const head of table.tHead.rows[0].cells) {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "sort", title: "Sort the rows shown" });
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head));
      head.append(button);
    }
  }

  // Suggestions: a field for an ID offers those that pages of this episode have shown, with the text beside them. What an
  // ID belongs to is known from the path of a link to its page, and holds for its prefix.
  const suggest = () => {
    const seen = new Map(stored(`ids ${EPISODE}`)), pathOf = new Map(stored(`prefixes ${EPISODE}`));
    const prefix = (id) => id.split("-")[0];
    for (const shown of document.querySelectorAll("main a, main code")) {
      const id = shown.textContent.trim();
      if (!ID.test(id)) continue;
      const [path, last] = (shown.pathname ?? "").split("/").slice(-2);
      if (last === id) pathOf.set(prefix(id), path);
      const beside = shown.closest("tr, li, dd, article, div")?.innerText.replace(id, "").replace(/\s+/g, " ").trim().slice(0, 60);
      const known = seen.get(id);
      seen.delete(id);
      seen.set(id, shown.closest("tr") || !known ? beside : known);
    }
    store(`ids ${EPISODE}`, [...seen].slice(-MAX_IDS));
    store(`prefixes ${EPISODE}`, [...pathOf]);
    for (const field of document.querySelectorAll("input[data-ids]")) {
      const kind = field.dataset.ids, id = `seen-${kind}`;
      field.setAttribute("list", id);
      if (document.getElementById(id)) continue;
      const fits = (path) => kind === "any" || path === undefined || path === kind;
      const found = [...seen].reverse().filter(([value]) => fits(pathOf.get(prefix(value))));
      const list = Object.assign(document.createElement("datalist"), { id });
      list.append(...found.map(([value, label]) => Object.assign(document.createElement("option"), { value, label: `${value} ${label}` })));
      document.body.append(list);
    }
  };
  requestAnimationFrame(() => setTimeout(suggest)); // after the first paint
})();
