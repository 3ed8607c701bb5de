// Tables that can be downloaded.

const assert = require("node:assert/strict");
const test = require("node:test");
const { load } = require("./load.js");

const { csvOf } = load(["apps/service/page/downloads.js"], ["csvOf"]);

test("a table with tabs becomes CSV, with quotes around commas and quotes", () => {
  assert.equal(csvOf('system\tscore\na, "b"\t0.5\n'), 'system,score\r\n"a, ""b""",0.5\r\n');
  assert.equal(csvOf("a\tb\n\t\n"), "a,b\r\n,\r\n");
});
