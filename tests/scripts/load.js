// Scripts of the report and of the service's page for unit tests. A browser joins them into one function, so they
// export nothing: they are run here as one script, and the wanted names are taken from it.

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const SOURCE = path.join(__dirname, "..", "..", "src", "nlgauge");

// load(["report/components/elements.js"], ["formatted"]).formatted(1, 2)
function load(files, names) {
  const scripts = files.map((file) => fs.readFileSync(path.join(SOURCE, file), "utf8"));
  const context = vm.createContext({ service: { limits: {}, metrics: [] }, TextDecoder, Blob, DecompressionStream });
  return vm.runInContext(`${scripts.join("\n")}\n({ ${names.join(", ")} });`, context);
}

// Objects of the other context have other prototypes, which strict equality would notice.
const plain = (value) => JSON.parse(JSON.stringify(value));

module.exports = { load, plain };
