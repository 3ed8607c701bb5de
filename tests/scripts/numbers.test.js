// Numbers, scales and colours of the components.

const assert = require("node:assert/strict");
const test = require("node:test");
const { load, plain } = require("./load.js");

const COMPONENTS = ["elements", "figures", "alignment"].map((name) => `report/components/${name}.js`);
const { formatted, counted, isolated, withQuotesIsolated, scaleOver, ticksBetween, shade } = load(COMPONENTS, [
  "formatted",
  "counted",
  "isolated",
  "withQuotesIsolated",
  "scaleOver",
  "ticksBetween",
  "shade",
]);

test("numbers have a fixed number of decimals and a real minus sign", () => {
  assert.equal(formatted(0.12345, 3), "0.123");
  assert.equal(formatted(-1.5, 1), "−1.5");
  assert.equal(formatted(1.5, 1, { sign: true }), "+1.5");
});

test("a number that rounds to zero has no sign", () => {
  assert.equal(formatted(-0.00001, 2, { sign: true }), "0.00");
});

test("a value that is not finite is a dash", () => {
  assert.equal(formatted(Number.NaN, 2), "–");
});

test("nouns are plural except after 1", () => {
  assert.equal(counted(1, "line"), "1 line");
  assert.equal(counted(0, "line"), "0 lines");
  assert.equal(counted(12016, "text"), "12,016 texts");
});

test("only right-to-left words are isolated", () => {
  assert.equal(isolated("cat"), "cat");
  assert.equal(isolated("مرحبا"), "\u2068مرحبا\u2069");
  assert.equal(withQuotesIsolated("'مرحبا' to 'cat'"), "\u2068'مرحبا'\u2069 to 'cat'");
});

test("a scale maps its ends inside the figure and clips values beyond", () => {
  const scale = scaleOver([0, 10], 0.1);
  assert.equal(scale.at(5), "50.00");
  assert.ok(Number(scale.at(0)) > 0);
  assert.equal(scale.at(100), "100.00");
});

test("a scale of equal values puts them in the middle", () => {
  assert.equal(scaleOver([2, 2]).at(2), "50.00");
});

test("ticks are round numbers between the ends", () => {
  assert.deepEqual(plain(ticksBetween(0.78, 0.97)), [
    { value: 0.8, text: "0.80" },
    { value: 0.8500000000000001, text: "0.85" },
    { value: 0.9, text: "0.90" },
    { value: 0.9500000000000001, text: "0.95" },
  ]);
});

test("a shade is dark for a near match, of similarities and of costs", () => {
  assert.equal(shade(990, [640, 990]), 5);
  assert.equal(shade(640, [640, 990]), 0);
  assert.equal(shade(100, [900, 100]), 5);
  assert.equal(shade(2000, [640, 990]), 5);
});
