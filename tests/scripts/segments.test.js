// The list of segments: labels, sorting, filters, search; and the correlation of the scatter plot.

const assert = require("node:assert/strict");
const test = require("node:test");
const { load, plain } = require("./load.js");

const FILES = ["report/components/scores.js", "report/components/list.js", "report/page/scatter.js"];
const { SegmentScores, chosenSegments, pearson, extent } = load(FILES, [
  "SegmentScores",
  "chosenSegments",
  "pearson",
  "extent",
]);

const TEXTS = ["A cat", "The dog", "A bird"].map((text) => [null, [text], text, text.toUpperCase()]);

function scores(higher = true) {
  const metrics = [
    {
      name: "m",
      higher,
      shown: 2,
      values: [
        [0.9, 0.1, 0.5],
        [0.1, 0.8, 0.5],
      ],
    },
  ];
  return new SegmentScores({ systems: ["a", "b"], count: 3, metrics, texts: TEXTS });
}

const state = (changes) => ({ metric: 0, first: 0, second: 1, sort: "segment", show: "all", query: "", ...changes });

test("segments without names are numbered from 1", () => {
  assert.equal(scores().label(0), "1");
});

test("differences are positive if the first system is better, also where lower is better", () => {
  assert.ok(scores().difference(0, 0, 1, 0) > 0);
  assert.ok(scores(false).difference(0, 0, 1, 0) < 0);
});

test("sorting by difference puts the largest first, in either direction", () => {
  assert.deepEqual(plain(chosenSegments(scores(), state({ sort: "difference" }))), [0, 1, 2]);
  assert.deepEqual(plain(chosenSegments(scores(), state({ sort: "behind" }))), [1, 2, 0]);
});

test("the worst score comes first, also where lower is better", () => {
  assert.deepEqual(plain(chosenSegments(scores(), state({ sort: "low" }))), [1, 2, 0]);
  assert.deepEqual(plain(chosenSegments(scores(false), state({ sort: "low" }))), [0, 2, 1]);
});

test("filters keep segments that one system wins", () => {
  assert.deepEqual(plain(chosenSegments(scores(), state({ show: "first" }))), [0]);
  assert.deepEqual(plain(chosenSegments(scores(), state({ show: "equal" }))), [2]);
});

test("search ignores case and finds texts and numbers", () => {
  assert.deepEqual(plain(chosenSegments(scores(), state({ query: " DOG " }))), [1]);
  assert.deepEqual(plain(chosenSegments(scores(), state({ query: "3" }))), [2]);
});

test("pearson is 1 on a rising line and -1 on a falling one", () => {
  const line = [0, 1, 2].map((x) => ({ x, y: 2 * x + 1 }));
  assert.ok(Math.abs(pearson(line) - 1) < 1e-12);
  assert.ok(Math.abs(pearson(line.map(({ x, y }) => ({ x, y: -y }))) + 1) < 1e-12);
});

test("the extent of equal values is not empty", () => {
  const [low, high] = extent([3, 3]);
  assert.ok(low < 3 && high > 3);
});
