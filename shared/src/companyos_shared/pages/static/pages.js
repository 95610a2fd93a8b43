// Progressive enhancement: every page works without this file.
"use strict";

// Prevent double submission of a form.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
  for (const button of form.querySelectorAll("button[type=submit]")) button.setAttribute("aria-busy", "true");
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// Scroll to the result of the last form.
const result = document.querySelector("[data-testid=problem], [data-testid=done]");
if (result) result.scrollIntoView({ block: "nearest" });
