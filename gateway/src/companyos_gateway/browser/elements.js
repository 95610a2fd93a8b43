// What is seen in the window and takes a click: role, name and the part of its box that is in the window.
() => {
  const TAGS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role]";
  const ROLES = ["button", "checkbox", "combobox", "link", "menuitem", "option", "radio", "searchbox", "slider",
    "spinbutton", "switch", "tab", "textbox", "treeitem"];
  const INPUTS = { button: "button", checkbox: "checkbox", image: "button", number: "spinbutton", radio: "radio",
    range: "slider", reset: "button", search: "searchbox", submit: "button" };
  const LONGEST = 200;
  const words = (text) => (text || "").replace(/\s+/g, " ").trim();
  const cut = (text) => text.slice(0, LONGEST);

  const roleOf = (one) => {
    const told = one.getAttribute("role");
    if (told) return ROLES.includes(told) ? told : null;
    switch (one.tagName) {
      case "A": return "link";
      case "BUTTON": case "SUMMARY": return "button";
      case "SELECT": return one.multiple ? "listbox" : "combobox";
      case "TEXTAREA": return "textbox";
      case "INPUT": return INPUTS[one.type] || "textbox";
      default: return null;
    }
  };
  const textOf = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id)?.textContent || "").join(" ");
  const nameOf = (one) => {
    const isButton = one.tagName === "INPUT" && INPUTS[one.type] === "button";
    const named = [
      () => textOf(one.getAttribute("aria-labelledby") || ""),
      () => one.getAttribute("aria-label"),
      () => [...(one.labels || [])].map((label) => label.textContent).join(" "),
      () => (isButton ? one.value : ""),
      () => (["INPUT", "SELECT", "TEXTAREA"].includes(one.tagName) ? "" : one.textContent),
      () => one.getAttribute("title"),
      () => one.getAttribute("placeholder"),
      () => one.querySelector?.("img[alt]")?.alt,
    ];
    for (const name of named) {
      const found = words(name());
      if (found) return cut(found);
    }
    return "";
  };
  const seen = (one) => {
    if (one.disabled || getComputedStyle(one).visibility !== "visible") return null;
    for (const box of one.getClientRects()) {
      const x = Math.max(0, Math.ceil(box.left)), y = Math.max(0, Math.ceil(box.top));
      const right = Math.min(innerWidth, Math.floor(box.right)), bottom = Math.min(innerHeight, Math.floor(box.bottom));
      const width = right - x, height = bottom - y;
      if (width < 2 || height < 2) continue;
      const hit = document.elementFromPoint(x + Math.floor(width / 2), y + Math.floor(height / 2));
      const label = hit?.closest("label");
      if (hit && (one.contains(hit) || label?.control === one)) return { x, y, width, height };
    }
    return null;
  };
  const heldBy = (one) => {
    const held = {};
    if (one.tagName === "SELECT") {
      held.value = words(one.selectedOptions[0]?.label);
      held.options = [...one.options].map((option) => words(option.label));
    } else if (one.tagName === "TEXTAREA") held.value = one.value;
    else if (one.tagName === "INPUT") {
      if (["checkbox", "radio"].includes(one.type)) held.checked = one.checked;
      else if (INPUTS[one.type] !== "button" && one.type !== "password") held.value = one.value;
    }
    if (one === document.activeElement) held.focused = true;
    return held;
  };

  const elements = [];
  for (const one of document.querySelectorAll(TAGS)) {
    const role = roleOf(one);
    const box = role && seen(one);
    if (!box) continue;
    const testid = one.dataset.testid;
    elements.push({ role, name: nameOf(one), ...(testid ? { testid } : {}), ...box, ...heldBy(one) });
  }
  const root = document.scrollingElement;
  return { title: document.title, scroll_y: Math.round(root.scrollTop), page_height: root.scrollHeight, elements };
}
