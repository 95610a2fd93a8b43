// One episode over plain HTTP with fetch: `node examples/http/episode.mjs [URL]`, with `companyos up` running.
const url = process.argv[2] ?? "http://127.0.0.1:8000";
const token = process.env.COMPANYOS_TRAINER_TOKEN;

async function ask(method, path, body) {
  const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  return fetch(new URL(path, url), { method, headers, body: body && JSON.stringify(body) });
}

const options = { scenario: "vendor_onboarding", seed: 7, chaos: 1 };
const begun = await ask("POST", "/v1/episodes", options);
if (!begun.ok) throw new Error(`${begun.status} ${await begun.text()}`);
const episode = begun.headers.get("location");
console.log((await begun.json()).observation.brief);

const tools = await (await ask("GET", `${episode}/tools?format=openai`)).json();
console.log(`${tools.length} tools, the first is ${tools[0].function.name}`);

const calls = [
  ["ticketdesk_list_tickets", { limit: 3 }],
  ["datahub_list_sources", {}],
  ["finish", { outcome: "done", summary: "Looked around." }],
];
for (const [at, [tool_name, given]] of calls.entries()) {
  const taken = await ask("POST", `${episode}/step`, { step: at + 1, action: { tool_name, arguments: given } });
  const { reward, done } = await taken.json();
  console.log(at + 1, tool_name, reward, done ? "done" : "");
}

const late = { action: { tool_name: "wait", arguments: { minutes: 5 } } };
const refused = await ask("POST", `${episode}/step`, late);
console.log(refused.status, (await refused.json()).code);

const state = await (await ask("GET", `${episode}/state`)).json();
console.log(`${state.outcome} after ${state.step_count} steps, return ${state.return}`);
console.log(await (await ask("GET", `${episode}/render?format=text`)).text());
await ask("DELETE", episode);
