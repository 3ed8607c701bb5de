// Who is better, and is it more than luck: rankings with intervals, and every two systems, as in the report.

// Above so many systems a cell has only its sign: numbers would be too small to read.
const MOST_WITH_NUMBERS = 12;

const decimalsFor = (scores) => (scores.some((score) => Math.abs(score) >= 10) ? 2 : 4);
const metricDecimals = (found) => decimalsFor(found.systems.map((row) => row.score));
const betterInWords = (found) => (found.higher_is_better ? "higher is better" : "a distance: lower is better");
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
function rankingTable(found, settings) {
  const decimals = metricDecimals(found);
  const level = levelText(settings.level);
  const values = found.systems.flatMap(({ score, interval }) => [
    score,
    ...(interval ? [interval.low, interval.high] : []),
  ]);
  const scale = scaleOver(values);
  let before = 1;
  const rows = found.systems.map((row) => {
    const { low = null, high = null } = row.interval ?? {};
    const between = row.interval ? intervalText(row.interval, decimals) : "";
    const score = formatted(row.score, decimals);
    const said = `${row.system}: ${score}${between && `, ${level} interval ${between}`}`;
    const starts = row.cluster !== before;
    before = row.cluster;
    return make(
      "tr",
      { class: starts ? "starts" : null },
      make("td", { class: "rank", text: row.rank }),
      make("th", { scope: "row", class: "name" }, userText("bdi", row.system)),
      make("td", { class: "num", text: score }),
      make("td", { class: "num wide", text: between }),
      make("td", { class: "figure" }, intervalBar(scale, row.score, low, high, said)),
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
    ["won / tied / lost", "num wide games"],
  ]);
  const table = make("table", { class: "ranking" }, head, make("tbody", {}, ...rows), make("tfoot", {}, foot));
  return scrolling(table, `Ranking by ${found.metric}`);
}

// Row against column, best systems first.
function significanceMatrix(found, settings) {
  const systems = found.systems.map((row) => row.system);
  const pairs = new Map();
  for (const pair of found.pairs) {
    pairs.set(JSON.stringify([pair.first, pair.second]), [pair, 1]);
    pairs.set(JSON.stringify([pair.second, pair.first]), [pair, -1]);
  }
  const decimals = metricDecimals(found);
  const numbers = systems.length <= MOST_WITH_NUMBERS;
  const rows = systems.map((system, at) => {
    const name = make("th", { scope: "row", class: "name" });
    name.append(make("span", { class: "rank", text: at + 1 }), " ", userText("bdi", system));
    const cells = systems.map((other) => {
      if (other === system) return make("td", { class: "self" });
      const [pair, sign] = pairs.get(JSON.stringify([system, other]));
      return pairCell(system, other, pair, sign * pair.difference, numbers ? decimals : null);
    });
    const starts = at > 0 && found.systems[at].cluster !== found.systems[at - 1].cluster;
    return make("tr", { class: starts ? "starts" : null }, name, ...cells);
  });
  const corner = make("td", { class: "corner" });
  const numbered = systems.map((system, at) => make("th", { scope: "col", title: system, text: at + 1 }));
  const table = make(
    "table",
    { class: "matrix" },
    make("thead", {}, make("tr", {}, corner, ...numbered)),
    make("tbody", {}, ...rows),
  );
  return scrolling(table, `Significance matrix of ${found.metric}`);
}

function pairCell(row, column, pair, difference, decimals) {
  let [mark, kind, word] = ["·", "even", "not shown to differ from"];
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

// How to read the tables, once for all metrics.
function readingNote(metrics, settings) {
  const [first] = metrics;
  const said = [
    `The dot is the score${first.systems[0].interval ? `, the bar its ${levelText(settings.level)} interval` : ""}. `,
  ];
  if (metrics.some((found) => found.systems.at(-1).cluster > 1))
    said.push(
      "A line separates rank clusters, as in WMT: every system above it is significantly better than every system " +
        "below it. ",
    );
  const key = (kind, mark) => make("span", { class: `${kind} key`, text: mark });
  const corrected = settings.correction === "holm" ? " after Holm's correction" : "";
  const rule = `${TESTS[settings.test] ?? settings.test}, p < ${settings.alpha}${corrected}`;
  said.push(
    ...[key("better", "▲"), " the row's system is better than the column's, ", key("worse", "▼")],
    ...[` it is worse (${rule} over ${counted(first.pairs.length, "pair")}), `, key("even", "·")],
    " no difference is shown. Numbers are differences of scores, row minus column, turned so that above 0 is better.",
  );
  return make("p", { class: "note" }, ...said);
}

// Notes on numbers that are in the report but not here: strengths that nothing is ranked by, effects and other tests.
const elsewhere = (note, { ranking }) => (ranking !== "bt" && note.includes("Bradley-Terry")) || /^effect\b/.test(note);

// What the library notes about metrics; what it notes about all of them is said once.
function metricNotes(metrics, settings) {
  const found = new Map();
  for (const { metric, notes } of metrics)
    for (const note of notes)
      if (!elsewhere(note, settings)) found.set(note, [...(found.get(note) ?? []), metric]);
  const items = [...found].map(([note, of]) =>
    make("li", { dir: "auto", text: of.length === metrics.length ? note : `${of.join(", ")}: ${note}` }),
  );
  return items.length ? make("ul", { class: "notes" }, ...items) : null;
}

// The section, for two systems or more: for each metric its ranking and its pairs.
function comparisonSection({ metrics, settings }) {
  const section = make("section", { id: "comparison", "aria-labelledby": "comparison-title" });
  section.append(make("h2", { id: "comparison-title", text: "Comparison" }));
  for (const found of metrics) {
    const title = make(
      "h3",
      {},
      `${found.metric} `,
      make("span", { class: "direction", text: betterInWords(found) }),
    );
    section.append(title, rankingTable(found, settings));
    section.append(significanceMatrix(found, settings));
  }
  section.append(readingNote(metrics, settings), metricNotes(metrics, settings) ?? "");
  return section;
}
