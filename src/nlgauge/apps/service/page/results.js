// The results: verdicts, scores of systems, signatures, and the sections below them.

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
  byId("explained-said").textContent = "The alignment of a segment is computed when you choose it.";
  linkSections(place);
}

function summarySection(result) {
  const { comparison, warnings, verdicts } = result.answer;
  const section = make("section", { id: "summary" });
  section.append(make("h2", { id: "results-title", text: "Results" }), factsLine(result));
  section.append(make("div", { class: "verdicts", id: "verdicts" }, ...verdicts.map((text) => userText("p", text))));
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
  for (const metric of metrics) {
    const arrow = make("span", { "aria-hidden": "true", text: metric.higher_is_better ? "↑" : "↓" });
    const better = betterInWords(metric);
    const settings = make("span", { class: "settings", text: changedSettings(metric.short_signature) });
    const title = `${titleInWords(metric.metric)} `;
    head.push([make("span", { title: better }, title, arrow, unseen(better), settings), "num"]);
  }
  const rows = metrics[0].systems.map(({ system }) => {
    const cells = metrics.map((metric) => scoreCell(metric, system));
    return make("tr", {}, make("th", { scope: "row", class: "name" }, userText("bdi", system)), ...cells);
  });
  const table = make("table", { class: "overview" }, heads(head), make("tbody", {}, ...rows));
  const parts = [];
  if (rows.length > 1) parts.push("Small numbers are ranks; the best score of each metric is bold.");
  else if (metrics[0].systems[0].interval)
    parts.push(`Small numbers are ${levelText(settings.level)} confidence intervals.`);
  for (const { metric, higher_is_better: higher } of metrics)
    if (!higher) parts.push(`Lower is better for ${titleInWords(metric)}.`);
  const note = make("p", { class: "note", text: parts.join(" ") });
  return make("div", { id: "scores" }, scrolling(table, "Scores of all metrics"), note, scoreHelp());
}

const SCORE_HELP = [
  "A score has no meaning on its own: 0.88 can be good for one model or data set and poor for another. Compare " +
    "systems that were scored on the same texts with the same metric and settings.",
  "Do not compare a BERTScore from here with one from a paper unless the signatures agree. The default model is " +
    "MiniLM, layer 4; most papers use roberta-large, layer 17. Each model has its own scale.",
  "Check whether a difference is statistically significant before you call one system better.",
];

const scoreHelp = () =>
  make(
    "details",
    { class: "help" },
    make("summary", { text: "How to read a score" }),
    ...SCORE_HELP.map((text) => make("p", { text })),
  );

function scoreCell(metric, system) {
  const decimals = metricDecimals(metric);
  const row = metric.systems.find((one) => one.system === system);
  const alone = metric.systems.length === 1;
  const attributes = { class: row.rank === 1 && !alone ? "num first" : "num", "data-metric": metric.metric };
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

// Signatures, which make the numbers reproducible, each with a button that copies it.
function signatureList(comparison) {
  const rows = comparison.metrics.map((metric) => signatureRow(titleInWords(metric.metric), metric));
  rows.push(signatureRow("comparison", comparison));
  return make(
    "div",
    { id: "signatures", role: "group", "aria-labelledby": "signatures-title" },
    make("h3", { id: "signatures-title", text: "Signatures" }),
    make("p", {
      class: "note",
      text:
        "Cite the short signature next to a score. The full one records the metric, the model and all options: " +
        "use it as a recipe to recompute the score.",
    }),
    ...rows,
  );
}

// The short signature, if there is one, with the full one as its tooltip, and a button that copies each.
function signatureRow(name, { signature, short_signature: short }) {
  const copyButton = (text, kind, content) => {
    const button = make("button", { type: "button", text, "aria-label": `Copy ${kind} of ${name}` });
    button.addEventListener("click", () => copyText(content, button));
    return button;
  };
  // Lines break between fields, not inside them.
  const parts = (short || signature).split(/(?<=\|)/).map((text) => make("span", { text }));
  return make(
    "div",
    { class: "signature" },
    make("b", { text: name }),
    make("code", { title: signature }, ...parts),
    make(
      "span",
      { class: "copies" },
      short ? copyButton("Copy", "short signature", short) : null,
      copyButton(short ? "Copy full" : "Copy", short ? "full signature" : "signature", signature),
    ),
  );
}

function hideResults() {
  byId("results").hidden = true;
  byId("results").replaceChildren();
  linkSections(byId("results"));
}

// Links to the sections of the result, after those of the form.
function linkSections(place) {
  const sections = byId("sections");
  for (const link of sections.querySelectorAll(".of-result")) link.remove();
  for (const section of place.querySelectorAll("section[id]")) {
    const text = section.querySelector("h2").textContent;
    sections.append(make("a", { href: `#${section.id}`, class: "of-result", text }));
  }
}
