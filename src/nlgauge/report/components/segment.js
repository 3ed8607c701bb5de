// One segment: its texts, the scores of all systems, and alignments if there are any.

const KINDS = { greedy: "greedy matching", flow: "transport flow" };

async function showSegment(scores, state, segment, move) {
  const place = byId("segment");
  const moved = state.chosen !== segment;
  state.chosen = segment;
  const steps = make("span", {}, stepButton("Previous", -1, move), " ", stepButton("Next", 1, move));
  const parts = [make("div", { class: "bar-head" }, make("h3", { text: `Segment ${scores.label(segment)}` }), steps)];
  if (scores.documents) parts.push(userText("p", `Document ${scores.document(segment)}`, { class: "note" }));
  const source = scores.source(segment);
  if (source !== null) parts.push(make("h4", { text: "source" }), userText("p", source, { class: "words" }));
  const references = scores.references(segment);
  references.forEach((reference, i) => {
    parts.push(make("h4", { text: references.length > 1 ? `reference ${i + 1}` : "reference" }));
    parts.push(userText("p", reference, { class: "words" }));
  });
  const chosen = state.second === null ? [state.first] : [state.first, state.second];
  const places = {
    kind: make("div"),
    outputs: chosen.map((system) => make("div", {}, outputText(scores, system, segment))),
    below: make("div"),
  };
  parts.push(places.kind);
  chosen.forEach((system, i) => {
    parts.push(systemHead(scores, state.metric, system, segment), places.outputs[i]);
  });
  parts.push(places.below);
  const others = scores.systems.map((_, i) => i).filter((i) => !chosen.includes(i));
  if (others.length) parts.push(otherSystems(scores, state.metric, others, segment));
  if (scores.metrics.length > 1) parts.push(allMetrics(scores, chosen, segment));
  place.replaceChildren(...parts);
  if (moved) place.scrollTop = 0;
  await showAlignments(scores, state, segment, chosen, places);
}

// Replace the outputs by alignments when they are available: they are unpacked, or requested.
async function showAlignments(scores, state, segment, chosen, places) {
  const { explanations } = scores;
  const wanted = () => places.below.isConnected; // until another segment is chosen
  const pairs = await Promise.all(chosen.map((system) => explanations.find(state.metric, system, segment, wanted)));
  const explained = await explanations.systems(state.metric, segment);
  if (!wanted()) return;
  const kinds = pairs.find((pair) => pair?.alignments)?.alignments.map(({ kind }) => kind) ?? [];
  const draw = () => drawAlignments(pairs, state, places);
  if (kinds.length > 1) {
    const choose = choice(
      "Alignment",
      kinds.map((kind) => [kind, KINDS[kind]]),
      state.kind ?? kinds[0],
      (kind) => {
        state.kind = kind;
        draw();
      },
    );
    places.kind.append(make("div", { class: "controls" }, choose.field));
  }
  draw();
  const some = pairs.some((pair) => pair?.alignments);
  if (explained.length && !chosen.every((system) => explained.includes(system)))
    places.below.append(explainedSystems(scores, explained));
  else if (!some && explanations.segments.size)
    places.below.append(
      make("p", { class: "note", text: "This report has no alignment of this segment for this metric." }),
    );
}

function drawAlignments(pairs, state, places) {
  let key = null;
  pairs.forEach((pair, i) => {
    if (!pair) return;
    const parts = (pair.notes ?? []).map((text) => make("p", { class: "note", text }));
    const alignment = pair.alignments?.find(({ kind }) => kind === state.kind) ?? pair.alignments?.[0];
    if (alignment) {
      key = alignmentKey(alignment);
      places.outputs[i].replaceChildren(alignmentView(pair, alignment), ...parts);
    } else {
      places.outputs[i].append(...parts);
    }
  });
  places.below.querySelector(".key-of-alignment")?.remove();
  if (key) places.below.prepend(key);
}

function explainedSystems(scores, systems) {
  const names = systems.flatMap((system, i) => [i ? ", " : "", userText("bdi", scores.systems[system])]);
  return make("p", { class: "note" }, "This report has alignments of this segment only for ", ...names, ".");
}

function stepButton(text, step, move) {
  const button = make("button", { type: "button", text });
  button.addEventListener("click", () => move(step));
  return button;
}

function systemHead(scores, metric, system, segment) {
  const score = formatted(scores.score(metric, system, segment), scores.metrics[metric].shown);
  return make("h4", {}, userText("bdi", scores.systems[system]), make("span", { class: "score", text: score }));
}

function outputText(scores, system, segment) {
  const text = scores.output(system, segment);
  return text === null
    ? make("p", { class: "note", text: "Texts are not available here." })
    : userText("p", text, { class: "words" });
}

function otherSystems(scores, metric, others, segment) {
  const better = scores.metrics[metric].higher ? 1 : -1;
  others.sort((one, two) => better * (scores.score(metric, two, segment) - scores.score(metric, one, segment)));
  const part = make("details", {}, make("summary", { text: counted(others.length, "other system") }));
  for (const system of others)
    part.append(systemHead(scores, metric, system, segment), outputText(scores, system, segment));
  return part;
}

function allMetrics(scores, chosen, segment) {
  const head = make("tr", {}, make("th", { scope: "col", text: "metric" }));
  for (const system of chosen)
    head.append(make("th", { scope: "col", class: "num" }, userText("bdi", scores.systems[system])));
  const body = make("tbody");
  scores.metrics.forEach((metric, i) => {
    const row = make("tr", {}, make("th", { scope: "row", text: metric.name }));
    for (const system of chosen)
      row.append(make("td", { class: "num", text: formatted(scores.score(i, system, segment), metric.shown) }));
    body.append(row);
  });
  return make(
    "details",
    {},
    make("summary", { text: "Scores by all metrics" }),
    make(
      "div",
      { class: "scroll", role: "group", tabindex: 0, "aria-label": "Scores by all metrics" },
      make("table", {}, make("thead", {}, head), body),
    ),
  );
}
