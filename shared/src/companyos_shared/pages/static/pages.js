// Conveniences only: every page works without this file.
"use strict";

// A form that was sent is not sent again by a second click.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
  for (const button of form.querySelectorAll("button[type=submit]")) button.setAttribute("aria-busy", "true");
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// What was refused, or done, is where the eye goes first.
const said = document.querySelector("[data-testid=problem], [data-testid=done]");
if (said) said.scrollIntoView({ block: "nearest" });
