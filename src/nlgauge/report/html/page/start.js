// The page comes to life: theme, buttons that copy, then the data and what shows it.

function startTheme(redraw) {
  const root = document.documentElement;
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const say = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to ${dark() ? "light" : "dark"} colours`);
  };
  try {
    root.dataset.theme = localStorage.getItem("nlgauge-theme") || "";
  } catch {
    root.dataset.theme = "";
  }
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("nlgauge-theme", root.dataset.theme);
    } catch {
      /* a file may have no storage */
    }
    say();
    redraw();
  });
  system.addEventListener("change", () => {
    say();
    redraw();
  });
  say();
}

function startSegments(report) {
  const pair = report.systems.length > 1;
  const state = {
    metric: 0,
    first: 0,
    second: pair ? 1 : null,
    sort: pair ? "difference" : "low",
    show: "all",
    query: "",
    chosen: null,
  };
  const list = new SegmentList(report, state);
  const controls = byId("segments-controls");
  const systems = report.systems.map((name, at) => [at, name]);
  const sorts = Object.entries(SORTS)
    .filter(([name]) => pair || ALONE.includes(name))
    .map(([name, [text]]) => [name, text]);
  const shows = Object.entries(SHOWS)
    .filter(([name]) => (name === "explained" ? report.explained.size > 0 : pair || name === "all"))
    .map(([name, [text]]) => [name, text]);
  const set =
    (name, change = String) =>
    (value) => {
      state[name] = change(value);
      list.refresh();
    };
  const show = choice("Show", shows, state.show, set("show"));
  const search = make("input", {
    type: "search",
    placeholder: "in all texts",
    autocomplete: "off",
    spellcheck: "false",
  });
  let waits = 0;
  search.addEventListener("input", () => {
    clearTimeout(waits);
    waits = setTimeout(() => {
      state.query = search.value;
      list.refresh();
    }, 120);
  });
  const metrics = report.metrics.map((metric, at) => [at, metric.name]);
  controls.append(
    make(
      "div",
      { class: "controls" },
      choice("Metric", metrics, 0, set("metric", Number)).field,
      choice(pair ? "System A" : "System", systems, 0, set("first", Number)).field,
      pair ? choice("System B", systems, 1, set("second", Number)).field : null,
    ),
    make(
      "div",
      { class: "controls" },
      choice("Sort by", sorts, state.sort, set("sort")).field,
      show.field,
      field("Search", search, { class: "field grows" }),
    ),
  );
  list.changed = () => {
    show.select.value = state.show;
    search.value = state.query;
    list.refresh();
  };
  list.refresh();
  startExports(list);
  return list;
}

function whatIsExplained(report) {
  const count = report.explained.size;
  if (count === 0) return "This page holds no alignments.";
  const few = report.explainedPerSegment < report.systems.length;
  const who = few ? ` (${counted(report.explainedPerSegment, "system")} each)` : "";
  if (count === report.count) return `Alignments of all segments${who} are part of the page.`;
  const which = `for ${counted(count, "segment")}, those on which systems differ most${who}`;
  return `Alignments are part of the page ${which}: choose “with alignments” under Show.`;
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
  byId("explained-said").textContent = whatIsExplained(report);
  scatter = new Scatter(report, (segment) => list.open(segment));
  const print = () => list.print();
  addEventListener("beforeprint", print);
  matchMedia("print").addEventListener("change", (event) => {
    if (event.matches) print();
  });
  document.documentElement.dataset.ready = "yes";
}

start();
