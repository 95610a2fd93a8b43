"use strict";

const at = (id) => document.getElementById(id);
const WATCH_PAUSE_MS = 700;

let tools = [];
let episodeId = null;
let watching = false;

function text(tag, content, className) {
  const element = document.createElement(tag);
  element.textContent = content;
  if (className) element.className = className;
  return element;
}

async function request(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(path, options);
  const content = await response.json();
  if (!response.ok) throw new Error(content.detail || content.title || response.statusText);
  return content;
}

async function attempt(action) {
  at("notice").hidden = true;
  try {
    return await action();
  } catch (error) {
    at("notice").textContent = error.message;
    at("notice").hidden = at("live").hidden = false;
    return null;
  }
}

function showExample() {
  const base = window.location.origin;
  at("example").textContent = [
    "import requests",
    `start = requests.post("${base}/reset", json={"seed": 7}).json()`,
    "action = {\"tool_name\": \"wait\", \"arguments\": {\"minutes\": 5}}",
    `step = requests.post("${base}/step", json={"episode_id": start["episode_id"], "action": action}).json()`,
    "print(start[\"observation\"][\"brief\"], step[\"reward\"], step[\"done\"])",
  ].join("\n");
}

async function showHealth() {
  const badge = at("health");
  try {
    const health = await (await fetch("/health")).json();
    badge.textContent = health.status;
    badge.className = health.status === "healthy" ? "badge good" : "badge bad";
  } catch {
    badge.textContent = "unreachable";
    badge.className = "badge bad";
  }
}

function familyOf(name) {
  return name.includes("_") ? name.slice(0, name.indexOf("_")) : "always";
}

function showTools() {
  const families = new Map();
  for (const tool of tools) {
    const family = familyOf(tool.name);
    if (!families.has(family)) families.set(family, []);
    families.get(family).push(tool);
  }
  at("toolbox").replaceChildren(...[...families].map(([family, members]) => {
    const details = document.createElement("details");
    details.append(text("summary", `${family} (${members.length})`));
    const list = document.createElement("ul");
    for (const tool of members) {
      const item = text("li", "");
      item.append(text("code", tool.name), document.createTextNode(` ${tool.description}`));
      list.append(item);
    }
    details.append(list);
    return details;
  }));
  at("tool").replaceChildren(...tools.map((tool) => {
    const option = text("option", tool.name);
    option.value = tool.name;
    return option;
  }));
  describeTool();
}

function describeTool() {
  const tool = tools.find((candidate) => candidate.name === at("tool").value);
  if (!tool) return;
  const required = tool.input_schema.required || [];
  at("description").textContent = tool.description;
  at("arguments").value = JSON.stringify(Object.fromEntries(required.map((name) => [name, ""])));
}

async function draw() {
  const episode = await request(`/render?episode_id=${encodeURIComponent(episodeId)}`);
  at("episode").hidden = false;
  at("form").hidden = watching || episode.done;
  at("brief").textContent = episode.brief;
  at("company").textContent = episode.company;
  at("now").textContent = episode.now.slice(0, 16).replace("T", " ");
  at("left").textContent = episode.steps_left;
  at("total").textContent = episode.total.toFixed(2);
  at("outcome").textContent = episode.done ? episode.outcome : "running";
  at("steps").replaceChildren(...episode.steps.slice().reverse().map((step) => {
    const row = document.createElement("tr");
    const tint = step.reward > 0 ? "number gain" : step.reward < -1 ? "number loss" : "number";
    row.append(
      text("td", step.step), text("td", step.now.slice(5, 16).replace("T", " ")), text("td", step.tool),
      text("td", step.outcome), text("td", step.reward.toFixed(2), tint),
    );
    return row;
  }));
  return episode;
}

function show(value) {
  at("response").textContent = JSON.stringify(value, null, 2);
  at("response").hidden = false;
}

function follow(id, isMine = sessionStorage.getItem("mine") === id) {
  episodeId = id;
  watching = !isMine;
  if (isMine) sessionStorage.setItem("mine", id);
  window.history.replaceState(null, "", `#${id}`);
  at("link").href = `#${id}`;
  at("live").hidden = false;
  at("apps").href = `/v1/episodes/${encodeURIComponent(id)}/apps`;
  at("apps").hidden = !isMine;
}

async function begin() {
  const response = await request("/reset", {});
  follow(response.episode_id, true);
  show(response.observation);
  await draw();
}

async function takeStep(name, values) {
  const action = { tool_name: name, arguments: values };
  const response = await request("/step", { episode_id: episodeId, action });
  show(response.observation.error || response.observation.result);
  return draw();
}

async function demonstrate() {
  const demonstration = await request("/v1/demonstrations", {});
  follow(demonstration.episode_id);
  at("response").hidden = true;
  await draw();
}

async function watch() {
  if (episodeId && !document.hidden) {
    if (await attempt(draw) === null) episodeId = null;
  }
  setTimeout(watch, WATCH_PAUSE_MS);
}

at("begin").addEventListener("click", () => attempt(begin));
at("watch").addEventListener("click", () => attempt(demonstrate));
at("tool").addEventListener("change", describeTool);
at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(() => takeStep(at("tool").value, JSON.parse(at("arguments").value || "{}")));
});

showExample();
showHealth();
attempt(async () => {
  tools = await request("/v1/tools");
  showTools();
  if (window.location.hash.length > 1) {
    follow(decodeURIComponent(window.location.hash.slice(1)));
    await draw();
  }
});
watch();
