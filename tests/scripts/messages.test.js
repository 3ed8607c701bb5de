// Sentences of the page: what metrics are for, limits, problems, states of jobs.

const assert = require("node:assert/strict");
const test = require("node:test");
const { load } = require("./load.js");

const FILES = ["report/components/elements.js"].concat(
  ["requests", "jobs", "metric_uses", "problems"].map((name) => `apps/service/page/${name}.js`),
);
const {
  metricTitle,
  titleInWords,
  changedSettings,
  metricUse,
  inWords,
  withoutFlags,
  Problem,
  jobInWords,
  sizeMistake,
  service,
} = load(FILES, [
  "metricTitle",
  "titleInWords",
  "changedSettings",
  "metricUse",
  "inWords",
  "withoutFlags",
  "Problem",
  "jobInWords",
  "sizeMistake",
  "service",
]);

test("a metric of the library is described by its use", () => {
  assert.equal(metricTitle("bertscore"), "BERTScore");
  assert.equal(
    metricUse({ name: "bertscore", what: "Greedy cosine matching", better: "higher" }),
    "Meaning similarity, tolerant of paraphrase. Higher is better.",
  );
});

test("a metric of another package keeps its own description, without a contradiction", () => {
  assert.equal(metricTitle("mine"), "mine");
  assert.equal(
    metricUse({ name: "mine", what: "Words moved; a distance", better: "lower" }),
    "Words moved. Lower is better.",
  );
});

test("results have the usual names of metrics", () => {
  assert.equal(titleInWords("bertscore"), "BERTScore");
  assert.equal(titleInWords("bertscore (layer:5)"), "BERTScore (layer:5)");
  assert.equal(titleInWords("moverscore:n=2"), "MoverScore:n=2");
  assert.equal(titleInWords("mine (2)"), "mine (2)");
});

test("only settings that differ from their defaults are shown", () => {
  assert.equal(changedSettings("bertscore|minilm-L4|nlgauge:0.2|h:202f27e7"), "");
  assert.equal(changedSettings("bertscore|minilm-L5|idf:refs|nlgauge:0.2|h:de61774e"), "minilm-L5, idf:refs");
  assert.equal(changedSettings("moverscore|minilm-L2-6|n:2|nlgauge:0.2|h:4f05d019"), "n:2");
  assert.equal(changedSettings("chrf|words:2|sacrebleu:2.6|nlgauge:0.2|h:01092843"), "words:2");
  assert.equal(changedSettings(undefined), "");
});

test("limits are named with a way out", () => {
  Object.assign(service.limits, { systems: 50, job_texts: 10_000, job_bytes: 1_000_000 });
  const form = (count, text = "a") => ({ systems: [{}], count, all: [{ text }] });
  assert.equal(
    sizeMistake(form(12_016)),
    "Too many texts (12,016; limit 10,000). Use fewer systems, or ask the operator to raise --max-job-texts.",
  );
  assert.equal(sizeMistake(form(10_000)), "");
  assert.match(sizeMistake(form(1, "a".repeat(1_000_001))), /Too many bytes .* --max-job-bytes\.$/);
});

test("messages become sentences", () => {
  assert.equal(inWords(new Error("the service does not answer")), "The service does not answer.");
  assert.equal(inWords(new Error("Stop!")), "Stop!");
});

test("a busy service names the seconds to wait", () => {
  const problem = new Problem({ detail: "256 requests are waiting" }, 429);
  problem.retryAfter = 5;
  assert.equal(inWords(problem), "The service is busy: 256 requests are waiting. Try again in 5 seconds.");
});

test("advice for the command line is translated for the page", () => {
  assert.match(withoutFlags("truncated: use 'long': 'windows'"), /window=model/);
  assert.equal(withoutFlags("model 'x' (--model) is unknown"), "model 'x' is unknown");
});

test("states of jobs", () => {
  assert.equal(jobInWords(null), "The connection to the service was lost. Trying again.");
  assert.equal(jobInWords({ state: "queued" }), "Waiting in the queue.");
  const running = (done, total, unit) => jobInWords({ state: "running", progress: { done, total, unit } });
  assert.equal(running(512, 3004, "segments"), "Scored 512 of 3,004 segments.");
  assert.equal(running(3004, 3004, "segments"), "Scored all 3,004 segments; comparing the systems.");
  assert.equal(running(1200, null, "tokens"), "Encoded 1,200 tokens.");
});
