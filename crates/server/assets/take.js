// The page of participants: asks, draws the report on the device, shows it, and sends it if the participant wants that.
import { Study } from "/sottovoce.js";

const $ = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").className = bad ? "bad" : "";
}

// What a browser remembers: that somebody took part, and a report that may not have arrived. Never an answer.
const memory = {
  get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
  set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* private browsing: nothing is remembered */ } },
  remove: (key) => { try { localStorage.removeItem(key); } catch { /* as above */ } },
};

const published = await (await fetch("/v1/study", { cache: "no-store" })).json();
// The study's own id: a report on one question must not be offered as an answer to another.
const key = `sottovoce:${published.study}`;
const study = new Study(published);
let drawn = null;

// Tabs take turns where the browser has locks: two of them must not make two reports.
const alone = (task) => (navigator.locks ? navigator.locks.request(key, task) : task());

// The report that may not have arrived; null if there is none. What cannot be read is not drawn anew: that would spend privacy again.
function unsent() {
  const kept = memory.get(`${key}:unsent`);
  if (kept === null) return null;
  const reports = JSON.parse(kept);
  const names = new Set(published.collections.map((c) => c.name));
  const whole = (r) => names.has(r?.collection) && typeof r.id === "string" && typeof r.report === "string";
  if (!Array.isArray(reports) || !reports.length || !reports.every(whole)) throw new Error("damaged");
  return reports;
}

const TAKEN = "Thank you. This browser has taken part already; a second report would cost you privacy, so there is none.";
const DAMAGED = "What this browser kept of an earlier report cannot be read. A second report would cost you privacy, so there is none.";

// Whether this browser may still report; shows why not, or the report that another tab or time has left.
function mayReport() {
  if (memory.get(`${key}:done`)) {
    $("form").hidden = $("preview").hidden = true;
    say(TAKEN);
    return false;
  }
  try {
    drawn = unsent() ?? drawn;
    return true;
  } catch {
    $("form").hidden = $("preview").hidden = true;
    say(DAMAGED, true);
    return false;
  }
}

const heading = published.questions.length === 1 ? title(published.questions[0]) : "Take part";
$("title").textContent = heading;
document.title = heading;

function title(question) {
  return question.text ?? question.name;
}

// Fields have names of their own: one called "hidden" would hide a property of the form.
function choices(question, field) {
  return question.labels.map((label) => {
    const input = element("input", { type: "radio", name: field, value: label, required: "" });
    return element("label", { class: "choice" }, input, element("span", {}, label));
  });
}

function number(question, field) {
  const edges = question.bins;
  const input = element("input", { type: "number", step: "any", required: "", name: field, inputmode: "decimal", "aria-label": title(question) });
  if (typeof edges[0] === "number") input.min = edges[0];
  if (typeof edges.at(-1) === "number") input.max = edges.at(-1);
  return [input];
}

for (const [at, question] of published.questions.entries()) {
  const asked = question.labels ? choices(question, `q${at}`) : number(question, `q${at}`);
  const name = published.questions.length === 1 ? "Your answer" : title(question);
  $("questions").append(element("fieldset", {}, element("legend", {}, name), ...asked));
}

if (mayReport()) {
  if (drawn) {
    show(drawn);
    say("Your report from last time may not have arrived. It is still here.");
  } else {
    $("form").hidden = false;
    say("");
  }
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  return alone(draw);
});

async function draw() {
  if (!mayReport()) return;
  if (drawn) return show(drawn);
  const given = new FormData($("form"));
  const answers = Object.create(null);
  for (const [at, question] of published.questions.entries()) {
    const value = given.get(`q${at}`);
    answers[question.name] = question.labels ? value : Number(value);
  }
  try {
    drawn = await study.answer(answers);
  } catch {
    return say("This is not an answer to the question. Please look at it again.", true);
  }
  memory.set(`${key}:unsent`, JSON.stringify(drawn));
  show(drawn, answers);
  $("preview").focus();
}

function list(labels) {
  return labels.length ? labels.map((label) => `“${label}”`).join(", ") : "no answer at all";
}

// What a report says, in words where there are few enough.
function meaning(collection, report) {
  const { draw, labels } = collection.published;
  if (!labels) return null;
  if (draw.kind === "response" || draw.kind === "identity") return `“${labels[Number(report)]}”`;
  if (draw.kind !== "bits" && draw.kind !== "subset") return null;
  const bit = (x) => parseInt(report.slice(2 * (x >> 3), 2 * (x >> 3) + 2), 16) >> (x & 7) & 1;
  return list(labels.filter((_, x) => bit(x)));
}

function percent(share) {
  return `${(100 * share).toPrecision(share > 0.995 ? 4 : 2).replace(/\.0+$/, "")} %`;
}

function show(reports, answers) {
  $("reports").replaceChildren(...reports.map(({ collection: name, report }) => {
    const collection = published.collections.find((c) => c.name === name);
    const facts = element("dl");
    if (answers) {
      const given = collection.questions.map((q) => (collection.questions.length > 1 ? `${q}: ${answers[q]}` : `${answers[q]}`));
      facts.append(element("dt", {}, "Your answer, which stays here"), element("dd", {}, given.join(", ")));
    }
    const said = meaning(collection, report);
    facts.append(element("dt", {}, "The report, which would be sent"), element("dd", {}, ...(said ? [`${said} – `] : []), element("code", {}, report)));
    return element("div", { class: "panel" }, facts);
  }));
  const level = reports.reduce((sum, { collection: name }) => {
    const value = published.collections.find((c) => c.name === name).published.realised_ldp.value;
    return sum + (value === "inf" ? Infinity : value);
  }, 0);
  $("odds").textContent = odds(level);
  $("form").hidden = true;
  $("preview").hidden = false;
  say("");
}

function odds(level) {
  if (!Number.isFinite(level)) return "This report is not changed at random: it may tell your answer with certainty.";
  const factor = Math.exp(level);
  const most = factor / (1 + factor);
  const times = factor < 1000 ? factor.toPrecision(3).replace(/\.?0+$/, "") : factor.toExponential(1);
  return `What it means: chance had its part in this report, so it proves nothing. Whoever reads it can change the odds between any two answers of yours by a factor of at most ${times}. ` +
    `Somebody who thought it 50 % likely that a certain answer is yours would think at most ${percent(most)} after reading it, and at least ${percent(1 - most)}.`;
}

$("send").addEventListener("click", () => alone(sendDrawn));

async function sendDrawn() {
  if (!mayReport()) return;
  $("send").disabled = true;
  say("Sending…");
  try {
    const receipts = await study.send("/v1", drawn);
    if ([...receipts.values()].some(({ refused }) => refused > 0)) throw new Error("refused");
    memory.set(`${key}:done`, "1");
    memory.remove(`${key}:unsent`);
    $("preview").hidden = true;
    say("Thank you. Your report was counted.");
  } catch (error) {
    $("send").disabled = false;
    if (error.status === 410) return say("The study is closed. If an earlier try arrived, your report may have been counted.", true);
    say("The report has not arrived. Nothing is lost: try again, now or later.", true);
  }
}

$("cancel").addEventListener("click", () => {
  $("preview").hidden = true;
  $("form").hidden = false;
  say("Nothing was sent now. The drawn report (not your answer) is kept in this browser, so that it is not drawn again.");
});
