// One segment: its texts, its scores under all systems, and alignments where there are some.

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
  // Counted from 0, as segments are, and as what is said of the best one.
  references.forEach((reference, at) => {
    parts.push(make("h4", { text: references.length > 1 ? `reference ${at}` : "reference" }));
    parts.push(userText("p", reference, { class: "words" }));
  });
  const chosen = state.second === null ? [state.first] : [state.first, state.second];
  const places = {
    kind: make("div"),
    outputs: chosen.map((system) => make("div", {}, outputText(scores, system, segment))),
    below: make("div"),
  };
  parts.push(places.kind);
  chosen.forEach((system, at) => parts.push(systemHead(scores, state.metric, system, segment), places.outputs[at]));
  parts.push(places.below);
  const others = scores.systems.map((_, at) => at).filter((at) => !chosen.includes(at));
  if (others.length) parts.push(otherSystems(scores, state.metric, others, segment));
  if (scores.metrics.length > 1) parts.push(allMetrics(scores, chosen, segment));
  place.replaceChildren(...parts);
  if (moved) place.scrollTop = 0;
  await showAlignments(scores, state, segment, chosen, places);
}

// Alignments take the place of the outputs once they are there: they are unpacked, or asked for.
async function showAlignments(scores, state, segment, chosen, places) {
  const { explanations } = scores;
  const wanted = () => places.below.isConnected; // until another segment is chosen
  const found = await Promise.all(chosen.map((system) => explanations.find(state.metric, system, segment, wanted)));
  const held = await explanations.systems(state.metric, segment);
  if (!wanted()) return;
  const kinds = found.find((one) => one?.alignments)?.alignments.map((one) => one.kind) ?? [];
  const draw = () => drawAlignments(found, state, places);
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
  const some = found.some((one) => one?.alignments);
  if (held.length && !chosen.every((system) => held.includes(system)))
    places.below.append(whoIsExplained(scores, held));
  else if (!some && explanations.segments.size)
    places.below.append(
      make("p", { class: "note", text: "This page holds no alignment of this segment under this metric." }),
    );
}

function drawAlignments(found, state, places) {
  let key = null;
  found.forEach((one, at) => {
    if (!one) return;
    const parts = (one.notes ?? []).map((text) => make("p", { class: "note", text }));
    const alignment = one.alignments?.find(({ kind }) => kind === state.kind) ?? one.alignments?.[0];
    if (alignment) {
      key = alignmentKey(alignment);
      places.outputs[at].replaceChildren(alignmentView(one, alignment), ...parts);
    } else {
      places.outputs[at].append(...parts);
    }
  });
  places.below.querySelector(".key-of-alignment")?.remove();
  if (key) places.below.prepend(key);
}

function whoIsExplained(scores, systems) {
  const names = systems.flatMap((at, place) => [place ? ", " : "", userText("bdi", scores.systems[at])]);
  return make("p", { class: "note" }, "This page holds alignments of this segment for ", ...names, ".");
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
    ? make("p", { class: "note", text: "The page was made without texts." })
    : userText("p", text, { class: "words" });
}

function otherSystems(scores, metric, others, segment) {
  const better = scores.metrics[metric].higher ? 1 : -1;
  others.sort((one, two) => better * (scores.score(metric, two, segment) - scores.score(metric, one, segment)));
  const part = make("details", {}, make("summary", { text: counted(others.length, "other system") }));
  others.forEach((system) =>
    part.append(systemHead(scores, metric, system, segment), outputText(scores, system, segment)),
  );
  return part;
}

function allMetrics(scores, chosen, segment) {
  const head = make("tr", {}, make("th", { scope: "col", text: "metric" }));
  chosen.forEach((system) =>
    head.append(make("th", { scope: "col", class: "num" }, userText("bdi", scores.systems[system]))),
  );
  const body = make("tbody");
  scores.metrics.forEach((metric, at) => {
    const row = make("tr", {}, make("th", { scope: "row", text: metric.name }));
    chosen.forEach((system) =>
      row.append(make("td", { class: "num", text: formatted(scores.score(at, system, segment), metric.shown) })),
    );
    body.append(row);
  });
  return make(
    "details",
    {},
    make("summary", { text: "under all metrics" }),
    make(
      "div",
      { class: "scroll", role: "group", tabindex: 0, "aria-label": "Scores under all metrics" },
      make("table", {}, make("thead", {}, head), body),
    ),
  );
}
