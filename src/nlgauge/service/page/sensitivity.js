// How far preprocessing moves scores: a job of its own, and a strip for each metric and each thing that is varied.

const PRESETS = [
  ["all", "everything, one thing at a time"],
  ["stopwords", "stop words: kept, or a list of them left out"],
  ["idf", "idf: as published, none, of random texts"],
  ["subwords", "subwords: first, all, average"],
  ["punctuation", "punctuation: left out or kept"],
  ["layers", "the layer of the model"],
];
const SWEEPS = {
  stopwords: "stop words",
  idf: "idf",
  "idf-random": "idf of random texts",
  subwords: "subwords",
  punctuation: "punctuation",
  layers: "layer",
};

// study: the request without what is varied; null where there is nothing to study.
function sensitivitySection(study) {
  const section = make("section", { id: "sensitivity", "aria-labelledby": "sensitivity-title" });
  section.append(
    make("h2", { id: "sensitivity-title", text: "Sensitivity" }),
    make("p", {
      text: "The same texts and metrics under other preprocessing: how far scores move, and whether systems change places.",
    }),
  );
  if (!study) {
    const text = "A study needs the texts, and a metric that compares vectors of a model.";
    section.append(make("p", { class: "note", text }));
    return section;
  }
  const preset = choice("What is varied", PRESETS, "all", () => {});
  const start = make("button", { type: "button", id: "study", text: "Study preprocessing" });
  const cancel = make("button", { type: "button", id: "study-cancel", text: "Cancel the study", hidden: true });
  const parts = {
    start,
    cancel,
    progress: make("progress", { id: "study-progress", "aria-label": "Progress of the study", hidden: true }),
    said: make("p", { id: "study-status", role: "status" }),
    strip: make("div", { id: "strip" }),
  };
  start.addEventListener("click", () => runStudy({ ...study, preset: preset.select.value }, parts));
  section.append(make("div", { class: "controls" }, preset.field, start, cancel));
  section.append(parts.progress, parts.said, parts.strip);
  return section;
}

async function runStudy(body, { start, cancel, progress, said, strip }) {
  const running = (on) => {
    start.disabled = on;
    cancel.hidden = progress.hidden = !on;
  };
  running(true);
  said.textContent = "";
  try {
    const { id } = await submitJob("sensitivity", body);
    cancel.onclick = () => cancelJob(id).catch((error) => (said.textContent = inWords(error)));
    const status = await watchJob(id, (now) => (said.textContent = jobInWords(now)));
    if (status.state === "done") {
      const { sensitivity } = JSON.parse(await jobResult(id, "json"));
      strip.replaceChildren(...stripsOf(sensitivity));
      said.textContent = flipsInWords(sensitivity);
    } else {
      said.textContent = status.problem ? inWords(new Error(status.problem.detail)) : `${ENDS_IN_WORDS[status.state]}`;
      if (status.state === "interrupted") said.textContent += " Start the study again.";
    }
  } catch (error) {
    said.textContent = inWords(error);
  }
  running(false);
}

// Whether systems change places: counted, and the first of them named.
function flipsInWords({ rankings }) {
  if (Object.keys(rankings[0]?.systems ?? {}).length < 2) return "";
  const flips = rankings.flatMap(({ metric, sweep, flips: found }) => found.map((flip) => ({ ...flip, metric, sweep })));
  if (!flips.length) return "No two systems change places.";
  const { ahead, behind, setting, sweep, metric } = flips[0];
  const first = `with ${SWEEPS[sweep] ?? sweep} ${setting}, ${behind} comes before ${ahead} by ${metric}`;
  const firm = flips.filter((flip) => flip.significant).length;
  return `Systems change places ${flips.length === 1 ? "once" : `${flips.length} times`}: ${first}${
    flips.length > 1 ? ", for one" : ""
  }. ${firm ? `${firm} of the changes ${firm === 1 ? "is" : "are"} significant.` : "None of it is significant."}`;
}

// A table for each metric: a row for each thing that is varied, on one scale.
function stripsOf({ rankings, movements, notes }) {
  const metrics = [...new Set(movements.map((movement) => movement.metric))];
  const parts = metrics.flatMap((metric) => {
    const own = movements.filter((movement) => movement.metric === metric && movement.level === "score");
    const systems = Object.keys(own[0].groups);
    const scale = scaleOver(own.flatMap(({ groups }) => Object.values(groups).flatMap(({ values }) => values)));
    const rows = own.map((movement) => {
      const ranking = rankings.find((one) => one.metric === metric && one.sweep === movement.sweep);
      return stripRow(movement, ranking?.flips.length ?? 0, systems, scale);
    });
    const axis = make("tr", {}, make("td"), make("td", { class: "figure" }, axisBelow(scale)), make("td"), make("td"));
    const head = heads([
      ["varied", "name"],
      ["score of each system under each setting", "figure"],
      ["varies by", "num"],
      ["order", ""],
    ]);
    const table = make("table", { class: "strips" }, head, make("tbody", {}, ...rows), make("tfoot", {}, axis));
    const record = service.metrics.find(({ name }) => name === metric.split(":")[0]);
    const direction = record?.better === "lower" ? "a distance: lower is better" : "higher is better";
    const title = make("h3", {}, metric, make("span", { class: "direction", text: direction }));
    return [title, systemKey(systems), scrolling(table, `Sensitivity of ${metric}`)];
  });
  const said = "A line joins a system's scores under all settings; each dot is one. “Varies by” is the mean coefficient of variation.";
  const list = make("ul", { class: "notes" }, ...notes.map((text) => make("li", { text })));
  return [...parts, make("p", { class: "note", text: said }), ...(notes.length ? [list] : [])];
}

const systemColour = (at) => `system-colour-${at % 6}`;

function systemKey(systems) {
  const items = systems.map((system, at) =>
    make("li", { class: systemColour(at) }, make("i", { "aria-hidden": "true" }), userText("bdi", system)),
  );
  return make("ul", { class: "system-key" }, ...items);
}

function stripRow({ sweep, settings, groups, average }, flips, systems, scale) {
  const height = 10 + 12 * systems.length;
  const decimals = decimalsFor(Object.values(groups).flatMap(({ values }) => values));
  const marks = systems.map((system, at) => {
    const { values } = groups[system];
    const y = 11 + 12 * at;
    const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => `${scale.at(value)}%`);
    const dots = values.map((value, setting) => {
      const said = `${system}, ${settings[setting]}: ${formatted(value, decimals)}`;
      return svg("circle", { cx: `${scale.at(value)}%`, cy: y, r: 3.5 }, svg("title", {}, said));
    });
    return svg("g", { class: systemColour(at) }, svg("line", { x1: low, x2: high, y1: y, y2: y }), ...dots);
  });
  const ends = systems.map((system) => {
    const { values } = groups[system];
    return `${system} from ${formatted(Math.min(...values), decimals)} to ${formatted(Math.max(...values), decimals)}`;
  });
  const label = `${settings.join(", ")}: ${ends.join("; ")}`;
  const attributes = { class: "strip", width: "100%", height, role: "img", "aria-label": label };
  const varied = make("th", { scope: "row", class: "name" }, SWEEPS[sweep] ?? sweep);
  varied.append(make("span", { class: "settings", text: settings.join(", ") }));
  return make(
    "tr",
    { class: "strip-row" },
    varied,
    make("td", { class: "figure" }, svg("svg", attributes, gridLines(scale, height), ...marks)),
    make("td", { class: "num", text: average.cv === null ? "" : `${formatted(average.cv, 1)} %` }),
    make("td", { text: systems.length < 2 ? "" : flips ? counted(flips, "change") : "kept" }),
  );
}
