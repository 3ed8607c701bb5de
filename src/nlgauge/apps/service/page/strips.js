// The results of a study as strips: for each metric a row per setting, all on one scale.

const SWEEPS = {
  stopwords: "stop words",
  idf: "idf",
  "idf-random": "idf of random texts",
  subwords: "subwords",
  punctuation: "punctuation",
  layers: "layer",
};

function stripsOf({ rankings, movements, notes }) {
  const metrics = [...new Set(movements.map((movement) => movement.metric))];
  const parts = metrics.flatMap((metric) => {
    const own = movements.filter((movement) => movement.metric === metric && movement.level === "score");
    const systems = Object.keys(own[0].groups);
    const scale = scaleOver(own.flatMap(({ groups }) => Object.values(groups).flatMap(({ values }) => values)));
    const rows = own.map((movement) => {
      const ranking = rankings.find((row) => row.metric === metric && row.sweep === movement.sweep);
      return stripRow(movement, ranking?.flips.length ?? 0, systems, scale);
    });
    const axis = make(
      "tr",
      {},
      make("td"),
      make("td", { class: "figure" }, axisBelow(scale)),
      make("td"),
      make("td"),
    );
    const head = heads([
      ["setting", "name"],
      ["scores of each system", "figure"],
      ["variation", "num"],
      ["ranking", ""],
    ]);
    const table = make("table", { class: "strips" }, head, make("tbody", {}, ...rows), make("tfoot", {}, axis));
    const record = service.metrics.find(({ name }) => name === metric.split(":")[0]);
    const direction = record?.better === "lower" ? "lower is better" : "higher is better";
    const title = make("h3", {}, `${titleInWords(metric)} `, make("span", { class: "direction", text: direction }));
    return [title, systemKey(systems), scrolling(table, `Sensitivity of ${titleInWords(metric)}`)];
  });
  const legend = "A line joins the scores of a system under all settings. Variation: mean coefficient of variation.";
  const list = make("ul", { class: "notes" }, ...notes.map((text) => make("li", { text })));
  return [...parts, make("p", { class: "note", text: legend }), ...(notes.length ? [list] : [])];
}

const systemColour = (i) => `system-colour-${i % 6}`;

function systemKey(systems) {
  const items = systems.map((system, i) =>
    make("li", { class: systemColour(i) }, make("i", { "aria-hidden": "true" }), userText("bdi", system)),
  );
  return make("ul", { class: "system-key" }, ...items);
}

function stripRow({ sweep, settings, groups, average }, flips, systems, scale) {
  const height = 10 + 12 * systems.length;
  const decimals = decimalsFor(Object.values(groups).flatMap(({ values }) => values));
  const marks = systems.map((system, i) => {
    const { values } = groups[system];
    const y = 11 + 12 * i;
    const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => `${scale.at(value)}%`);
    const dots = values.map((value, setting) => {
      const label = `${system}, ${settings[setting]}: ${formatted(value, decimals)}`;
      return svg("circle", { cx: `${scale.at(value)}%`, cy: y, r: 3.5 }, svg("title", {}, label));
    });
    return svg("g", { class: systemColour(i) }, svg("line", { x1: low, x2: high, y1: y, y2: y }), ...dots);
  });
  const ends = systems.map((system) => {
    const { values } = groups[system];
    const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => formatted(value, decimals));
    return `${system} from ${low} to ${high}`;
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
    make("td", { text: systems.length < 2 ? "" : flips ? counted(flips, "change") : "unchanged" }),
  );
}
