// Comparison of systems: rankings with intervals, and a matrix of significant differences, as in the report.

// With more systems, cells of the matrix show only a sign: numbers would be too small.
const MOST_WITH_NUMBERS = 12;

const decimalsFor = (scores) => (scores.some((score) => Math.abs(score) >= 10) ? 2 : 4);
const metricDecimals = (metric) => decimalsFor(metric.systems.map((row) => row.score));
const betterInWords = (metric) => (metric.higher_is_better ? "higher is better" : "lower is better");
const levelText = (level) => `${Number((100 * level).toPrecision(12))} %`;
const intervalText = ({ low, high }, decimals) => `${formatted(low, decimals)} – ${formatted(high, decimals)}`;
const pText = (p) => (p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`);

function scrolling(table, label) {
  const area = make("div", { class: "scroll", role: "region", "aria-label": label, tabindex: 0 }, table);
  showOverflow(area);
  return area;
}

const heads = (cells) =>
  make("thead", {}, make("tr", {}, ...cells.map(([text, kind]) => make("th", { scope: "col", class: kind }, text))));

const unseen = (text) => make("span", { class: "unseen", text });

// Systems by rank, with intervals; a line between rank clusters.
function rankingTable(metric, settings) {
  const decimals = metricDecimals(metric);
  const level = levelText(settings.level);
  const values = metric.systems.flatMap(({ score, interval }) => [
    score,
    ...(interval ? [interval.low, interval.high] : []),
  ]);
  const scale = scaleOver(values);
  let before = 1;
  const rows = metric.systems.map((row) => {
    const { low = null, high = null } = row.interval ?? {};
    const between = row.interval ? intervalText(row.interval, decimals) : "";
    const score = formatted(row.score, decimals);
    const label = `${row.system}: ${score}${between && `, ${level} interval ${between}`}`;
    const starts = row.cluster !== before;
    before = row.cluster;
    return make(
      "tr",
      { class: starts ? "starts" : null },
      make("td", { class: "rank", text: row.rank }),
      make("th", { scope: "row", class: "name" }, userText("bdi", row.system)),
      make("td", { class: "num", text: score }),
      make("td", { class: "num wide", text: between }),
      make("td", { class: "figure" }, intervalBar(scale, row.score, low, high, label)),
      make("td", { class: "num wide games", text: [row.wins, row.ties, row.losses].join(" / ") }),
    );
  });
  const foot = make(
    "tr",
    {},
    make("td", { colspan: 3 }),
    make("td", { class: "wide" }),
    make("td", { class: "figure" }, axisBelow(scale)),
    make("td", { class: "wide games" }),
  );
  const head = heads([
    [unseen("rank"), "rank"],
    ["system", "name"],
    ["score", "num"],
    [`${level} interval`, "num wide"],
    [unseen(`score and ${level} interval`), "figure"],
    ["wins / ties / losses", "num wide games"],
  ]);
  const table = make("table", { class: "ranking" }, head, make("tbody", {}, ...rows), make("tfoot", {}, foot));
  return scrolling(table, `Ranking by ${titleInWords(metric.metric)}`);
}

// Row compared with column, best systems first.
function significanceMatrix(metric) {
  const systems = metric.systems.map((row) => row.system);
  const pairs = new Map();
  for (const pair of metric.pairs) {
    pairs.set(JSON.stringify([pair.first, pair.second]), [pair, 1]);
    pairs.set(JSON.stringify([pair.second, pair.first]), [pair, -1]);
  }
  const decimals = metricDecimals(metric);
  const numbers = systems.length <= MOST_WITH_NUMBERS;
  const rows = systems.map((system, i) => {
    const name = make("th", { scope: "row", class: "name" });
    name.append(make("span", { class: "rank", text: i + 1 }), " ", userText("bdi", system));
    const cells = systems.map((other) => {
      if (other === system) return make("td", { class: "self" });
      const [pair, sign] = pairs.get(JSON.stringify([system, other]));
      return pairCell(system, other, pair, sign * pair.difference, numbers ? decimals : null);
    });
    const starts = i > 0 && metric.systems[i].cluster !== metric.systems[i - 1].cluster;
    return make("tr", { class: starts ? "starts" : null }, name, ...cells);
  });
  const corner = make("td", { class: "corner" });
  const numbered = systems.map((system, i) => make("th", { scope: "col", title: system, text: i + 1 }));
  const table = make(
    "table",
    { class: "matrix" },
    make("thead", {}, make("tr", {}, corner, ...numbered)),
    make("tbody", {}, ...rows),
  );
  return scrolling(table, `Significance matrix of ${titleInWords(metric.metric)}`);
}

function pairCell(row, column, pair, difference, decimals) {
  let [mark, kind, word] = ["·", "even", "not significantly different from"];
  if (pair.better !== null)
    [mark, kind, word] = pair.better === row ? ["▲", "better", "better than"] : ["▼", "worse", "worse than"];
  const number = formatted(difference, decimals ?? 4, { sign: true });
  const adjusted = pair.p_adjusted === null ? "" : `, ${pText(pair.p_adjusted)}`;
  return make(
    "td",
    { class: kind, title: `${row} ${word} ${column}: ${number}${adjusted}` },
    make("span", { class: "mark", "aria-hidden": "true", text: mark }),
    decimals === null ? null : make("span", { class: "difference", text: number }),
    unseen(` ${word} ${column}`),
  );
}

const TESTS = { bootstrap: "paired bootstrap" };

// A legend for the tables of all metrics.
function readingNote(metrics, settings) {
  const [first] = metrics;
  const interval = first.systems[0].interval ? `, bars: ${levelText(settings.level)} confidence intervals` : "";
  const parts = [`Dots: scores${interval}. `];
  if (metrics.some((metric) => metric.systems.at(-1).cluster > 1))
    parts.push(
      "A line separates rank clusters, as in WMT: every system above it is significantly better than every system " +
        "below it. ",
    );
  const key = (kind, mark) => make("span", { class: `${kind} key`, text: mark });
  const corrected =
    settings.correction === "holm" ? `, Holm-corrected for ${counted(first.pairs.length, "pair")}` : "";
  const rule = `${TESTS[settings.test] ?? settings.test}, p < ${settings.alpha}${corrected}`;
  parts.push(
    ...[key("better", "▲"), " row significantly better than column, ", key("worse", "▼")],
    ...[` significantly worse (${rule}), `, key("even", "·")],
    " no significant difference. Numbers: score difference, row minus column; above 0 the row is better.",
  );
  return make("p", { class: "note" }, ...parts);
}

// Whether a note is about numbers that only the report shows: strengths, effect sizes and other tests.
const isAboutReport = (note, { ranking }) =>
  (ranking !== "bt" && note.includes("Bradley-Terry")) || /^effect\b/.test(note);

const aboutMetrics = (names, note) => `${names.map(titleInWords).join(", ")}: ${note}`;

// Notes of the library on metrics; the names are left out if a note is about all of them or begins with one.
function metricNotes(metrics, settings) {
  const affected = new Map();
  for (const { metric, notes } of metrics)
    for (const note of notes)
      if (!isAboutReport(note, settings)) affected.set(note, [...(affected.get(note) ?? []), metric]);
  const items = [...affected].map(([note, names]) =>
    make("li", {
      dir: "auto",
      text: names.length === metrics.length || names.includes(note.split(" ")[0]) ? note : aboutMetrics(names, note),
    }),
  );
  return items.length ? make("ul", { class: "notes" }, ...items) : null;
}

// "higher is better · idf:refs"
const directionAndSettings = (metric) =>
  [betterInWords(metric), changedSettings(metric.short_signature)].filter(Boolean).join(" · ");

// The section for two or more systems: ranking and significance matrix of each metric.
function comparisonSection({ metrics, settings }) {
  const section = make("section", { id: "comparison", "aria-labelledby": "comparison-title" });
  section.append(make("h2", { id: "comparison-title", text: "Comparison" }));
  for (const metric of metrics) {
    const title = make(
      "h3",
      {},
      `${titleInWords(metric.metric)} `,
      make("span", { class: "direction", text: directionAndSettings(metric) }),
    );
    section.append(title, rankingTable(metric, settings));
    section.append(significanceMatrix(metric));
  }
  section.append(readingNote(metrics, settings), metricNotes(metrics, settings) ?? "");
  return section;
}
