// One segment: its texts, its scores under all systems, and alignments where there are some.

async function showSegment(report, state, segment, move) {
  const place = byId("segment");
  state.chosen = segment;
  const steps = make("span", {}, stepButton("Previous", -1, move), " ", stepButton("Next", 1, move));
  const parts = [make("div", { class: "bar-head" }, make("h3", { text: `Segment ${report.label(segment)}` }), steps)];
  if (report.documents) parts.push(userText("p", `Document ${report.document(segment)}`, { class: "note" }));
  const source = report.source(segment);
  if (source !== null) parts.push(make("h4", { text: "source" }), userText("p", source, { class: "words" }));
  const references = report.references(segment);
  references.forEach((reference, at) => {
    parts.push(make("h4", { text: references.length > 1 ? `reference ${at + 1}` : "reference" }));
    parts.push(userText("p", reference, { class: "words" }));
  });
  const chosen = state.second === null ? [state.first] : [state.first, state.second];
  let key = null;
  for (const system of chosen) {
    parts.push(systemHead(report, state.metric, system, segment));
    const found = await report.explanation(state.metric, system, segment);
    if (found) {
      parts.push(alignmentView(found));
      key = alignmentKey(found);
    } else {
      parts.push(outputText(report, system, segment));
    }
  }
  if (key) parts.push(key);
  const held = await report.explainedSystems(state.metric, segment);
  if (held.length && !chosen.every((system) => held.includes(system))) parts.push(whoIsExplained(report, held));
  else if (!key && report.explained.size)
    parts.push(make("p", { class: "note", text: "This page holds no alignment of this segment under this metric." }));
  const others = report.systems.map((_, at) => at).filter((at) => !chosen.includes(at));
  if (others.length) parts.push(otherSystems(report, state.metric, others, segment));
  if (report.metrics.length > 1) parts.push(allMetrics(report, chosen, segment));
  if (state.chosen !== segment) return; // another one was chosen while this one's alignment was unpacked
  place.replaceChildren(...parts);
  place.scrollTop = 0;
}

function whoIsExplained(report, systems) {
  const names = systems.flatMap((at, place) => [place ? ", " : "", userText("bdi", report.systems[at])]);
  return make("p", { class: "note" }, "This page holds alignments of this segment for ", ...names, ".");
}

function stepButton(text, step, move) {
  const button = make("button", { type: "button", text });
  button.addEventListener("click", () => move(step));
  return button;
}

function systemHead(report, metric, system, segment) {
  const score = formatted(report.score(metric, system, segment), report.metrics[metric].shown);
  return make("h4", {}, userText("bdi", report.systems[system]), make("span", { class: "score", text: score }));
}

function outputText(report, system, segment) {
  const text = report.output(system, segment);
  return text === null
    ? make("p", { class: "note", text: "The page was made without texts." })
    : userText("p", text, { class: "words" });
}

function otherSystems(report, metric, others, segment) {
  const better = report.metrics[metric].higher ? 1 : -1;
  others.sort((one, two) => better * (report.score(metric, two, segment) - report.score(metric, one, segment)));
  const part = make("details", {}, make("summary", { text: counted(others.length, "other system") }));
  others.forEach((system) =>
    part.append(systemHead(report, metric, system, segment), outputText(report, system, segment)),
  );
  return part;
}

function allMetrics(report, chosen, segment) {
  const head = make("tr", {}, make("th", { scope: "col", text: "metric" }));
  chosen.forEach((system) =>
    head.append(make("th", { scope: "col", class: "num" }, userText("bdi", report.systems[system]))),
  );
  const body = make("tbody");
  report.metrics.forEach((metric, at) => {
    const row = make("tr", {}, make("th", { scope: "row", text: metric.name }));
    chosen.forEach((system) =>
      row.append(make("td", { class: "num", text: formatted(report.score(at, system, segment), metric.shown) })),
    );
    body.append(row);
  });
  return make(
    "details",
    {},
    make("summary", { text: "under all metrics" }),
    make("table", {}, make("thead", {}, head), body),
  );
}
