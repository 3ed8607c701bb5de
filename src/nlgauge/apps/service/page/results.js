// What came back: verdicts, scores of systems, signatures, and the sections below them.

// result: {answer, text (of the answer), body (of the request), job}; answer is that of /v1/compare.
// study: the request for one, or null.
function showResults(result, study) {
  const place = byId("results");
  const { answer } = result;
  const { comparison } = answer;
  place.replaceChildren(
    summarySection(result),
    ...(comparison.metrics[0].systems.length > 1 ? [comparisonSection(comparison)] : []),
    segmentsSection(),
    sensitivitySection(study),
  );
  place.hidden = false;
  startSegments(segmentScores(result), byId("segments-live"));
  byId("explained-said").textContent = "Alignments are asked for when a segment is chosen.";
  linkSections(place);
}

function summarySection(result) {
  const { comparison, warnings, verdicts } = result.answer;
  const section = make("section", { id: "summary" });
  section.append(make("h2", { id: "results-title", text: "Results" }), factsLine(result));
  const said = make("div", { class: "verdicts", id: "verdicts" });
  said.append(...verdicts.map((text) => userText("p", text)));
  section.append(said);
  if (warnings.length)
    section.append(
      make("ul", { class: "notes", id: "warnings" }, ...warnings.map((text) => userText("li", withoutFlags(text)))),
    );
  section.append(scoresTable(comparison), signatureList(comparison), downloadButtons(result));
  return section;
}

function factsLine({ answer, body, seconds }) {
  const [first] = answer.comparison.metrics;
  const facts = [
    counted(first.systems.length, "system"),
    counted(first.n, "segment"),
    counted(answer.comparison.metrics.length, "metric"),
  ];
  if (body?.refs) {
    const most = Math.max(...body.refs.map((group) => (Array.isArray(group) ? group.length : 1)));
    facts.push(most > 1 ? `${most} references each` : "one reference each");
  }
  if (body?.sources) facts.push("sources");
  if (seconds) facts.push(`${seconds.toFixed(1)} seconds`);
  return make("p", { class: "facts", text: facts.join(" · ") });
}

// A row per system, a column per metric; the rank beside each score, or the interval where there is one system.
function scoresTable({ metrics, settings }) {
  const head = [["system", "name"]];
  for (const found of metrics) {
    const arrow = make("span", { "aria-hidden": "true", text: found.higher_is_better ? "↑" : "↓" });
    const said = betterInWords(found);
    head.push([make("span", { title: said }, `${found.metric} `, arrow, unseen(said)), "num"]);
  }
  const rows = metrics[0].systems.map(({ system }) => {
    const cells = metrics.map((found) => scoreCell(found, system));
    return make("tr", {}, make("th", { scope: "row", class: "name" }, userText("bdi", system)), ...cells);
  });
  const table = make("table", { class: "overview" }, heads(head), make("tbody", {}, ...rows));
  const parts = [];
  if (rows.length > 1) parts.push("Small numbers are ranks; the best score of each metric is bold.");
  else if (metrics[0].systems[0].interval) parts.push(`Small numbers are ${levelText(settings.level)} intervals.`);
  for (const { metric, higher_is_better: higher } of metrics)
    if (!higher) parts.push(`${metric} is a distance: lower is better.`);
  const note = make("p", { class: "note", text: parts.join(" ") });
  return make("div", { id: "scores" }, scrolling(table, "Scores of all metrics"), note);
}

function scoreCell(found, system) {
  const decimals = metricDecimals(found);
  const row = found.systems.find((one) => one.system === system);
  const alone = found.systems.length === 1;
  const attributes = { class: row.rank === 1 && !alone ? "num first" : "num", "data-metric": found.metric };
  let beside = make("span", { class: "place", title: "rank", text: row.rank });
  if (alone) beside = row.interval && make("span", { class: "place", text: intervalText(row.interval, decimals) });
  return make("td", attributes, `${formatted(row.score, decimals)} `, beside);
}

function segmentsSection() {
  return make(
    "section",
    { id: "segments", "aria-labelledby": "segments-title" },
    make("h2", { id: "segments-title", text: "Segments" }),
    make("div", { id: "segments-live" }),
  );
}

// What makes these numbers again, each with a button that copies it.
function signatureList(comparison) {
  const rows = comparison.metrics.map(({ metric, signature }) => signatureRow(metric, signature));
  rows.push(signatureRow("comparison", comparison.signature));
  return make(
    "div",
    { id: "signatures", role: "group", "aria-labelledby": "signatures-title" },
    make("h3", { id: "signatures-title", text: "Signatures" }),
    make("p", {
      class: "note",
      text: "The same metric, model and options give the same numbers again; a signature names them all.",
    }),
    ...rows,
  );
}

function signatureRow(name, signature) {
  const button = make("button", { type: "button", text: "Copy", "aria-label": `Copy signature of ${name}` });
  button.addEventListener("click", () => copyText(signature, button));
  // Lines break between fields, not inside them.
  const parts = signature.split(/(?<=\|)/).map((text) => make("span", { text }));
  return make("div", { class: "signature" }, make("b", { text: name }), make("code", {}, ...parts), button);
}

// Before a run, whose result will be another one.
function hideResults() {
  byId("results").hidden = true;
  byId("results").replaceChildren();
  linkSections(byId("results"));
}

// Links to the sections of the result, beside those of the form.
function linkSections(place) {
  const sections = byId("sections");
  sections.querySelectorAll(".of-result").forEach((link) => link.remove());
  for (const section of place.querySelectorAll("section[id]")) {
    const text = section.querySelector("h2").textContent;
    sections.append(make("a", { href: `#${section.id}`, class: "of-result", text }));
  }
}
