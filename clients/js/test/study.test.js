import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import test from "node:test";

import { Client, Study, send } from "../dist/sottovoce.js";

const vectors = JSON.parse(readFileSync(new URL("../../../docs/vectors.json", import.meta.url), "utf8"));
const published = (start) => vectors.protocols.find(({ canonical }) => canonical.startsWith(start)).published;
const four = published('{"kind":"erasure","a":4');
const three = published('{"kind":"identity","a":3');

const study = {
  format: "sottovoce study",
  version: 1,
  strategy: "split",
  title: "ignored",
  questions: [
    { name: "sex", labels: ["Female", "Male"], text: "ignored" },
    { name: "income", labels: ["<=50K", ">50K"] },
    { name: "hours", bins: ["-inf", 20, 40, "inf"] },
  ],
  collections: [
    { name: "sex+income", questions: ["sex", "income"], published: four },
    { name: "hours", questions: ["hours"], published: three },
  ],
};

test("answers are cells, the last question fastest, and bins contain their lower edge", () => {
  const answer = (answers) => new Study(study, () => 0n).answer(answers).map(({ collection, report }) => [collection, report]);
  assert.deepEqual(answer({ sex: "Male", income: "<=50K", hours: 20 }), [["sex+income", "2"], ["hours", "1"]]);
  assert.deepEqual(answer({ sex: "Female", income: ">50K", hours: "39.5" }), [["sex+income", "1"], ["hours", "1"]]);
  assert.deepEqual(answer({ sex: "Male", income: ">50K", hours: -1e9 }), [["sex+income", "3"], ["hours", "0"]]);
  const closed = { ...study, questions: [...study.questions.slice(0, 2), { name: "hours", bins: [0, 20, 40, 60] }] };
  const bin = (hours) => new Study(closed, () => 0n).answer({ sex: "Male", income: ">50K", hours })[1].report;
  assert.deepEqual([0, 19.9, 59, 60].map(bin), ["0", "0", "2", "2"]);
  for (const hours of [-0.1, 60.1, NaN, Infinity, "many", "", "0x10", null]) assert.throws(() => bin(hours), { code: "domain" });
});

test("missing and unknown answers are refused without an echo, whichever collection is drawn", () => {
  const sample = { ...study, strategy: "sample", collections: study.collections.map((entry) => ({ ...entry, words: String(2n ** 63n) })) };
  for (const words of [0n, 2n ** 63n, 2n ** 64n - 1n]) {
    const asked = new Study(sample, () => words);
    for (const answers of [{ sex: "Male", income: "secret", hours: 3 }, { sex: "Male", income: ">50K" }]) {
      assert.throws(() => asked.answer(answers), (error) => error.code === "domain" && !error.message.includes("secret"));
    }
    const drawn = asked.answer({ sex: "Male", income: ">50K", hours: 3 });
    assert.deepEqual(drawn.map(({ collection }) => collection), [words < 2n ** 63n ? "sex+income" : "hours"]);
  }
});

test("studies that do not fit are refused", () => {
  for (const change of [
    { version: 2 },
    { strategy: "other" },
    { strategy: "sample" },
    { collections: [{ name: "hours", questions: ["hours"], published: four }] },
    { collections: [{ name: "age", questions: ["age"], published: three }] },
    { questions: [{ name: "hours", bins: [0, 0, 1, 2] }] },
  ]) {
    assert.throws(() => new Study({ ...study, ...change }), { code: "published" });
  }
});

/** A service that settles batches as `answer` says. */
async function service(answer, ask) {
  const seen = [];
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const batch = JSON.parse(Buffer.concat(parts));
    seen.push({ url: request.url, headers: request.headers, batch });
    answer(batch, response, seen.length);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  try {
    await ask(`http://127.0.0.1:${server.address().port}`, seen);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const receipt = (batch) => {
  const results = batch.reports.map(() => "counted");
  return JSON.stringify({ counted: results.length, repeated: 0, refused: 0, results });
};

test("a batch without an answer is repeated with the same ids", async () => {
  const answer = (batch, response, time) => {
    if (time === 1) response.socket.destroy();
    else if (time === 2) response.writeHead(503).end();
    else if (time === 3) response.writeHead(200, { "content-length": "1000" }).write("{"), setTimeout(() => response.socket.destroy(), 20);
    else response.end(receipt(batch));
  };
  await service(answer, async (url, seen) => {
    const client = new Client(three);
    const reports = ["0", "1", "2"].map((value) => client.submission(value));
    const total = await send(`${url}/reports`, client.fingerprint, reports, { limit: 2, wait: 1 });
    assert.deepEqual([total.counted, total.results.length], [3, 3]);
    assert.deepEqual(seen.map(({ batch }) => batch.reports.length), [2, 2, 2, 2, 1]);
    assert.ok(seen.slice(1, 4).every(({ batch }) => JSON.stringify(batch) === JSON.stringify(seen[0].batch)));
    assert.deepEqual(Object.keys(seen[0].batch), ["fingerprint", "reports"]);
  });
});

test("what the service refuses is not repeated, and the message has no report", async () => {
  for (const status of [400, 404, 409, 410, 413, 415]) {
    await service(
      (_, response) => response.writeHead(status).end(),
      async (url, seen) => {
        const client = new Client(three);
        const sent = send(url, client.fingerprint, [client.submission(1)], { wait: 1 });
        await assert.rejects(sent, { code: "service", status });
        assert.equal(seen.length, 1);
      },
    );
  }
});

test("a study sends each report to its collection, and nothing of the answers besides", async () => {
  await service((batch, response) => response.end(receipt(batch)), async (url, seen) => {
    const asked = new Study(study);
    const receipts = await asked.send(`${url}/study/`, asked.answer({ sex: "Male", income: ">50K", hours: 45 }));
    assert.deepEqual([...receipts.keys()], ["sex+income", "hours"]);
    assert.deepEqual(seen.map(({ url }) => url), ["/study/collections/sex%2Bincome/reports", "/study/collections/hours/reports"]);
    assert.deepEqual(Object.keys(seen[0].batch.reports[0]), ["id", "report"]);
  });
});

test("a failing service is asked again, and a batch that is too large is halved", async () => {
  const answer = (batch, response, time) => {
    if (time <= 2) response.writeHead([408, 500][time - 1]).end();
    else if (batch.reports.length > 2) response.writeHead(413).end();
    else response.end(receipt(batch));
  };
  await service(answer, async (url, seen) => {
    const client = new Client(three);
    const reports = ["0", "1", "2", "0", "1"].map((value) => client.submission(value));
    const total = await send(url, client.fingerprint, reports, { wait: 1 });
    assert.deepEqual([total.counted, total.results.length], [5, 5]);
    assert.deepEqual(seen.map(({ batch }) => batch.reports.length), [5, 5, 5, 3, 2, 2, 1]);
    assert.deepEqual(seen.slice(4).flatMap(({ batch }) => batch.reports.map(({ id }) => id)), reports.map(({ id }) => id));
    for (const limit of [0, -1, NaN, 0.5]) await assert.rejects(send(url, client.fingerprint, reports, { limit }), { code: "service" });
  });
});
