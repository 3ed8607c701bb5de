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

// study: null where the texts are not known, or {body} of a request with metrics that have a model.
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
  start.addEventListener("click", () => runStudy({ ...study.body, preset: preset.select.value }, parts));
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

function flipsInWords({ rankings }) {
  const flips = rankings.flatMap((ranking) => ranking.flips);
  if (Object.keys(rankings[0]?.systems ?? {}).length < 2) return "";
  if (!flips.length) return "No two systems change places.";
  const pairs = new Set(flips.map(({ first, second }) => [first, second].sort().join("\n")));
  return `${counted(pairs.size, "pair")} of systems ${pairs.size === 1 ? "changes" : "change"} places under some setting.`;
}

function stripsOf({ rankings, movements, notes }) {
  const metrics = [...new Set(rankings.map((ranking) => ranking.metric))];
  const parts = metrics.flatMap((metric) => {
    const own = rankings.filter((ranking) => ranking.metric === metric);
    const systems = Object.keys(own[0].systems);
    const scale = scaleOver(own.flatMap((ranking) => Object.values(ranking.systems).flat()));
    const rows = own.map((ranking) => stripRow(ranking, movements, systems, scale));
    const axis = make("tr", {}, make("td"), make("td", { class: "figure" }, axisBelow(scale)), make("td"), make("td"));
    const head = heads([
      ["varied", "name"],
      ["score of each system under each setting", "figure"],
      ["varies by", "num"],
      ["order", ""],
    ]);
    const table = make("table", { class: "strips" }, head, make("tbody", {}, ...rows), make("tfoot", {}, axis));
    return [make("h3", { text: metric }), systemKey(systems), scrolling(table, `Sensitivity of ${metric}`)];
  });
  const said = "A line joins a system's scores under all settings; each dot is one. “Varies by” is the coefficient of variation.";
  return [...parts, make("p", { class: "note", text: [said, ...notes].join(" ") })];
}

const systemColour = (at) => `system-colour-${at % 6}`;

function systemKey(systems) {
  const items = systems.map((system, at) =>
    make("li", { class: systemColour(at) }, make("i", { "aria-hidden": "true" }), userText("bdi", system)),
  );
  return make("ul", { class: "system-key" }, ...items);
}

function stripRow(ranking, movements, systems, scale) {
  const height = 10 + 12 * systems.length;
  const marks = systems.flatMap((system, at) => {
    const values = ranking.systems[system];
    const y = 11 + 12 * at;
    const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => `${scale.at(value)}%`);
    const dots = values.map((value, setting) => {
      const dot = svg("circle", { cx: `${scale.at(value)}%`, cy: y, r: 3.5 });
      dot.append(svg("title", {}, `${system}, ${ranking.settings[setting]}: ${formatted(value, 4)}`));
      return dot;
    });
    return svg("g", { class: systemColour(at) }, svg("line", { x1: low, x2: high, y1: y, y2: y }), ...dots);
  });
  const said = systems.map((system) => {
    const values = ranking.systems[system];
    return `${system} from ${formatted(Math.min(...values), 4)} to ${formatted(Math.max(...values), 4)}`;
  });
  const label = `${ranking.settings.join(", ")}: ${said.join("; ")}`;
  const attributes = { class: "strip", width: "100%", height, role: "img", "aria-label": label };
  const movement = movements.find((one) => one.metric === ranking.metric && one.sweep === ranking.sweep);
  const flips = ranking.flips.length;
  return make(
    "tr",
    { class: "strip-row" },
    make("th", { scope: "row", class: "name" }, SWEEPS[ranking.sweep] ?? ranking.sweep, settingsLine(ranking)),
    make("td", { class: "figure" }, svg("svg", attributes, gridLines(scale, height), ...marks)),
    make("td", { class: "num", text: movement?.average ? `${formatted(movement.average.cv, 1)} %` : "" }),
    make("td", { text: systems.length < 2 ? "" : flips ? `${counted(flips, "change")}` : "kept" }),
  );
}

const settingsLine = ({ settings }) => make("span", { class: "settings", text: settings.join(", ") });
