// Visible, clickable elements: role, name and the part of the bounding box inside the window.
() => {
  const TAGS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role]";
  const ROLES = ["button", "checkbox", "combobox", "link", "menuitem", "option", "radio", "searchbox", "slider",
    "spinbutton", "switch", "tab", "textbox", "treeitem"];
  const INPUTS = { button: "button", checkbox: "checkbox", image: "button", number: "spinbutton", radio: "radio",
    range: "slider", reset: "button", search: "searchbox", submit: "button" };
  const MAX_NAME_LENGTH = 200;
  const normalize = (text) => (text || "").replace(/\s+/g, " ").trim();
  const cut = (text) => text.slice(0, MAX_NAME_LENGTH);

  const roleOf = (element) => {
    const role = element.getAttribute("role");
    if (role) return ROLES.includes(role) ? role : null;
    switch (element.tagName) {
      case "A": return "link";
      case "BUTTON": case "SUMMARY": return "button";
      case "SELECT": return element.multiple ? "listbox" : "combobox";
      case "TEXTAREA": return "textbox";
      case "INPUT": return INPUTS[element.type] || "textbox";
      default: return null;
    }
  };
  const textOf = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id)?.textContent || "").join(" ");
  const nameOf = (element) => {
    const isButton = element.tagName === "INPUT" && INPUTS[element.type] === "button";
    const sources = [
      () => textOf(element.getAttribute("aria-labelledby") || ""),
      () => element.getAttribute("aria-label"),
      () => [...(element.labels || [])].map((label) => label.textContent).join(" "),
      () => (isButton ? element.value : ""),
      () => (["INPUT", "SELECT", "TEXTAREA"].includes(element.tagName) ? "" : element.textContent),
      () => element.getAttribute("title"),
      () => element.getAttribute("placeholder"),
      () => element.querySelector?.("img[alt]")?.alt,
    ];
    for (const source of sources) {
      const name = normalize(source());
      if (name) return cut(name);
    }
    return "";
  };
  const visibleBox = (element) => {
    if (element.disabled || getComputedStyle(element).visibility !== "visible") return null;
    for (const box of element.getClientRects()) {
      const x = Math.max(0, Math.ceil(box.left)), y = Math.max(0, Math.ceil(box.top));
      const right = Math.min(innerWidth, Math.floor(box.right)), bottom = Math.min(innerHeight, Math.floor(box.bottom));
      const width = right - x, height = bottom - y;
      if (width < 2 || height < 2) continue;
      const hit = document.elementFromPoint(x + Math.floor(width / 2), y + Math.floor(height / 2));
      const label = hit?.closest("label");
      if (hit && (element.contains(hit) || label?.control === element)) return { x, y, width, height };
    }
    return null;
  };
  const stateOf = (element) => {
    const state = {};
    if (element.tagName === "SELECT") {
      state.value = normalize(element.selectedOptions[0]?.label);
      state.options = [...element.options].map((option) => normalize(option.label));
    } else if (element.tagName === "TEXTAREA") state.value = element.value;
    else if (element.tagName === "INPUT") {
      if (["checkbox", "radio"].includes(element.type)) state.checked = element.checked;
      else if (INPUTS[element.type] !== "button" && element.type !== "password") state.value = element.value;
    }
    if (element === document.activeElement) state.focused = true;
    return state;
  };

  const elements = [];
  for (const element of document.querySelectorAll(TAGS)) {
    const role = roleOf(element);
    const box = role && visibleBox(element);
    if (!box) continue;
    const testid = element.dataset.testid;
    elements.push({ role, name: nameOf(element), ...(testid ? { testid } : {}), ...box, ...stateOf(element) });
  }
  const root = document.scrollingElement;
  return { title: document.title, scroll_y: Math.round(root.scrollTop), page_height: root.scrollHeight, elements };
}
