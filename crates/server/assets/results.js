// The page of the aggregator: counts, the posterior as it narrows, and what can be done with the collection.
const $ = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The token comes behind the # of the address, which is never sent, and leaves the address at once.
let token = location.hash.slice(1) || sessionStorage.getItem("sottovoce:token") || "";
if (location.hash) history.replaceState(null, "", location.pathname);
let latest = null;
let texts = {};

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").className = bad ? "bad" : "";
}

function ask(path, method = "GET") {
  return fetch(path, { method, headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
}

const whole = (number) => number.toLocaleString("en");
const points = (share) => (100 * share).toFixed(1);

function login(wrong) {
  $("all").hidden = true;
  $("login").hidden = false;
  say(wrong ? "This is not the token of this run of the service." : "", wrong);
}

$("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = $("token").value.trim();
  refresh();
});

async function refresh() {
  if (!token) return login(false);
  let answer;
  try {
    answer = await ask("/v1/results");
  } catch {
    return say("The service does not answer. Trying again…", true);
  }
  if (answer.status === 401) { token = ""; return login(true); }
  if (!answer.ok) return say("The store does not answer. Reports are not lost: clients keep them. Trying again…", true);
  sessionStorage.setItem("sottovoce:token", token);
  latest = await answer.json();
  if (Object.keys(texts).length === 0) {
    const study = await (await fetch("/v1/study")).json();
    texts = Object.fromEntries(study.questions.map((q) => [q.name, q.text ?? q.name]));
  }
  say("");
  $("login").hidden = true;
  $("all").hidden = false;
  show();
}

function show() {
  const { collections, closed, analysis } = latest;
  const total = collections.reduce((sum, c) => sum + c.reports, 0);
  const each = collections.length > 1 ? ` (${collections.map((c) => `${c.name}: ${whole(c.reports)}`).join(", ")})` : "";
  const known = analysis ? analysis.reports.reduce((sum, n) => sum + n, 0) : 0;
  const behind = known === total ? "" : ` Shown below is what the first ${whole(known)} say; more is on its way.`;
  set($("count"), `${whole(total)} reports${each}.${closed ? " The study is closed." : ""}${behind}`);
  if (analysis?.error) say(`There is no analysis: ${analysis.error}`, true);
  if (analysis?.report) {
    $("questions").replaceChildren(
      ...analysis.report.questions.map((question) => table(question, latest.level)),
      ...analysis.report.cross_tables.map(cross),
    );
  }
  needed();
  liars();
  refused();
  files();
  $("close").disabled = closed;
}

// A table that is wider than a phone is moved sideways, also with the keyboard.
function wide(name, ...parts) {
  return element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": name }, element("table", {}, ...parts));
}

// Live regions speak when their text changes, so it is not set anew without reason.
function set(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

function bar({ mean, low, high }) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const part = (kind, x, width, y, height) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [key, value] of Object.entries({ class: kind, x: `${x}%`, width: `${width}%`, y, height })) made.setAttribute(key, value);
    svg.append(made);
  };
  svg.setAttribute("class", "bar");
  svg.setAttribute("aria-hidden", "true");
  part("track", 0, 100, "25%", "50%");
  part("range", 100 * low.value, Math.max(0.5, 100 * (high.value - low.value)), "25%", "50%");
  part("mean", Math.min(99, 100 * mean.value), 1, "0", "100%");
  return svg;
}

function table(question, level) {
  const interval = `${(100 * level).toFixed(0)} % interval`;
  const rows = question.answers.map(({ label, share }) => element("tr", {},
    element("th", { scope: "row" }, label),
    element("td", { class: "bar" }, bar(share)),
    element("td", { class: "number" }, `${points(share.mean.value)} %`),
    element("td", { class: "number" }, `${points(share.low.value)} to ${points(share.high.value)} %`)));
  const head = element("tr", {}, element("th", { scope: "col" }, "Answer"), element("td", { class: "bar" }),
    element("th", { scope: "col", class: "number" }, "Share"), element("th", { scope: "col", class: "number" }, interval));
  const caption = `From ${whole(question.n)} reports. Given them, each share lies in its interval with probability ${(100 * level).toFixed(0)} %.`;
  const made = element("section", {}, element("h2", {}, texts[question.name] ?? question.name),
    wide(`Shares: ${question.name}`, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...rows)));
  const number = question.number;
  if (number?.mean) {
    made.append(element("p", {}, `Mean ${number.mean.mean.value.toPrecision(4)} (${number.mean.low.value.toPrecision(4)} to ${number.mean.high.value.toPrecision(4)}), if numbers are spread evenly within each bin.`));
  }
  return made;
}

function cross(found) {
  const head = element("tr", {}, element("th", { scope: "col" }, found.questions.slice(0, -1).join(", ")),
    ...found.columns.map((name) => element("th", { scope: "col", class: "number" }, name)));
  const rows = found.rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.label),
    ...row.cells.map((cell) => element("td", { class: "number" }, `${points(cell.mean.value)} (${points(cell.low.value)} to ${points(cell.high.value)})`))));
  return element("section", {}, element("h2", {}, found.questions.join(" by ")),
    wide(`Cross-table: ${found.questions.join(" by ")}`, element("caption", {}, "Shares of all people in percent, with intervals"), element("thead", {}, head), element("tbody", {}, ...rows)));
}

// Widths of intervals fall with the root of the number of reports.
function needed() {
  const wanted = Number($("accuracy").value) / 100;
  const report = latest.analysis?.report;
  if (!(wanted > 0) || !report) return set($("needed-text"), "");
  const lines = report.questions.map((question) => {
    const width = Math.max(...question.answers.map(({ share }) => (share.high.value - share.low.value) / 2));
    if (question.n < 30) return `${question.name}: too few reports to say.`;
    const all = Math.ceil(question.n * (width / wanted) ** 2);
    const now = `now ± ${points(width)}`;
    return all <= question.n ? `${question.name}: reached (${now}).` : `${question.name}: about ${whole(all - question.n)} more reports (${now}).`;
  });
  set($("needed-text"), lines.join(" "));
}

function liars() {
  const k = Number($("liars").value);
  const lines = latest.collections.map(({ name, reports, influence }) => {
    if (!reports || !(k >= 0)) return `${name}: no reports yet.`;
    if (influence === null) return `${name}: not known for this protocol.`;
    const moved = Math.min(1, (k * influence) / reports);
    return `${name}: ${whole(k)} of ${whole(reports)} can move an estimated share by at most ${points(moved)} percentage points, whatever they send.`;
  });
  $("liars-text").replaceChildren(...lines.map((line) => element("p", {}, line)));
}

const REASONS = {
  id: "an id that is none", empty: "empty", length: "too short or too long", not_digits: "not digits", out_of_range: "a number that is too large",
  padding: "bits that must be 0 are not", set_size: "a set of the wrong size", conflict: "another report with the same id was counted before",
};

function refused() {
  const reasons = Object.entries(latest.refused).map(([reason, n]) => element("p", {}, `${whole(n)}: ${REASONS[reason] ?? reason}`));
  $("refused").replaceChildren(...(reasons.length ? reasons : [element("p", {}, "None.")]));
}

function files() {
  if ($("files").childElementCount) return;
  $("files").replaceChildren(...latest.collections.map(({ name }) => {
    const path = `/v1/collections/${encodeURIComponent(name)}`;
    const reports = element("button", { type: "button", class: "quiet" }, `Reports of ${name} (CSV)`);
    const tallies = element("button", { type: "button", class: "quiet" }, `Tallies of ${name} (JSON)`);
    reports.addEventListener("click", () => download(`${path}/reports`, `${name}.csv`));
    tallies.addEventListener("click", () => download(`${path}/tallies`, `${name}.json`));
    return element("div", { class: "row" }, reports, tallies);
  }));
}

async function download(path, name) {
  const answer = await ask(path);
  if (!answer.ok) return say("The file cannot be made now.", true);
  const address = URL.createObjectURL(await answer.blob());
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

async function act(path, question, done) {
  if (!confirm(question)) return;
  const answer = await ask(path, "POST");
  say(answer.ok ? done : "The service could not do it now.", !answer.ok);
  if (answer.ok) refresh();
}

$("close").addEventListener("click", () => act("/v1/close", "Take no more reports? This cannot be undone.", "The study is closed."));
$("forget").addEventListener("click", () => act("/v1/forget", "Delete all reports and keep their tallies? This cannot be undone.", "Only the tallies are kept."));
$("accuracy").addEventListener("input", needed);
$("liars").addEventListener("input", liars);

await refresh();
setInterval(() => { if (token && !document.hidden) refresh(); }, 2000);
