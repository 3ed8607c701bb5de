// The page comes to life: theme, buttons that copy, then the data.

function startTheme(redraw) {
  const root = document.documentElement;
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const say = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Change to ${dark() ? "light" : "dark"} colours`); };
  try { root.dataset.theme = localStorage.getItem("nlgauge-theme") || ""; } catch { root.dataset.theme = ""; }
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("nlgauge-theme", root.dataset.theme); } catch { /* a file may have no storage */ }
    say();
    redraw();
  });
  system.addEventListener("change", () => { say(); redraw(); });
  say();
}

function startCopying() {
  document.querySelectorAll("button.copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => copyText(byId(button.dataset.copies).textContent, button));
  });
}

function startSegments(report) {
  const pair = report.systems.length > 1;
  const state = { metric: 0, first: 0, second: pair ? 1 : null, sort: pair ? "difference" : "low", show: "all", query: "", chosen: null };
  const list = new SegmentList(report, state);
  const controls = byId("segments-controls");
  const systems = report.systems.map((name, at) => [at, name]);
  const sorts = Object.entries(SORTS).filter(([name]) => pair || ALONE.includes(name)).map(([name, [text]]) => [name, text]);
  const shows = Object.entries(SHOWS).filter(([name]) => (name === "explained" ? report.explained.size > 0 : pair || name === "all")).map(([name, [text]]) => [name, text]);
  const set = (name, change = String) => (value) => { state[name] = change(value); list.refresh(); };
  const show = choice("Show", shows, state.show, set("show"));
  const search = make("input", { type: "search", placeholder: "in all texts", autocomplete: "off", spellcheck: "false" });
  let waits = 0;
  search.addEventListener("input", () => {
    clearTimeout(waits);
    waits = setTimeout(() => { state.query = search.value; list.refresh(); }, 120);
  });
  const metrics = report.metrics.map((metric, at) => [at, metric.name]);
  controls.append(
    make("div", { class: "controls" },
      choice("Metric", metrics, 0, set("metric", Number)).field,
      choice(pair ? "System A" : "System", systems, 0, set("first", Number)).field,
      pair ? choice("System B", systems, 1, set("second", Number)).field : null),
    make("div", { class: "controls" },
      choice("Sort by", sorts, state.sort, set("sort")).field, show.field, field("Search", search, { class: "field grows" })));
  list.changed = () => { show.select.value = state.show; search.value = state.query; list.refresh(); };
  list.refresh();
  startExports(list);
  return list;
}

// What is listed, to copy: all of it as TSV, what a page of paper holds in the other forms.
function startExports(list) {
  const clean = (text) => String(text).replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, " ");
  const latex = (text) => clean(text).replace(/[\\{}&%$#_~^<>|]/g, (sign) => ({
    "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}",
  }[sign] || `\\${sign}`));
  const markdown = (text) => clean(text).replace(/[\\`*_[\]|~#]/g, "\\$&").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const row = (cells, escape) => `| ${cells.map(escape).join(" | ")} |`;
  const forms = {
    TSV: () => list.cells(Infinity).map((cells) => cells.map(clean).join("\t")).join("\n"),
    LaTeX: () => {
      const [head, ...rows] = list.cells(PRINTED).map((cells) => `${cells.map(latex).join(" & ")} \\\\`);
      const columns = "l".repeat(list.cells(0)[0].length);
      return [`\\begin{tabular}{${columns}}`, "\\toprule", head, "\\midrule", ...rows, "\\bottomrule", "\\end{tabular}"].join("\n");
    },
    Markdown: () => {
      const [head, ...rows] = list.cells(PRINTED);
      return [row(head, markdown), `|${"---|".repeat(head.length)}`, ...rows.map((cells) => row(cells, markdown))].join("\n");
    },
  };
  const place = byId("segments-export");
  place.className = "export";
  Object.entries(forms).forEach(([form, text]) => {
    const button = make("button", { type: "button", text: form === "TSV" ? "Copy all rows as TSV" : `Copy ${PRINTED} rows as ${form}` });
    button.addEventListener("click", () => copyText(`${text()}\n`, button));
    place.append(button);
  });
}

function sayWhatIsExplained(report) {
  const count = report.explained.size;
  byId("explained-said").textContent = count === 0
    ? "This page holds no alignments."
    : count === report.count
      ? "Alignments of all segments are part of the page."
      : `Alignments are part of the page for ${counted(count, "segment")}, those on which systems differ most: choose “with alignments” under Show.`;
}

async function start() {
  let scatter = null;
  startTheme(() => scatter?.draw());
  startCopying();
  if (!("DecompressionStream" in window)) return;
  const report = new Report(await unpack("page-data"));
  for (const name of ["scatter", "segments"]) {
    byId(`${name}-waits`).hidden = true;
    byId(`${name}-live`).hidden = false;
  }
  const list = startSegments(report);
  sayWhatIsExplained(report);
  scatter = new Scatter(report, (segment) => list.open(segment));
  const print = () => list.print();
  addEventListener("beforeprint", print);
  matchMedia("print").addEventListener("change", (event) => { if (event.matches) print(); });
  document.documentElement.dataset.ready = "yes";
}

start();
