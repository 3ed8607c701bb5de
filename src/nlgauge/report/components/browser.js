// The browser of segments: controls, the list, and the chosen segment.

// The elements; ids and labels are the same on every page.
function segmentsBrowser() {
  const list = make("div", {
    id: "segments-list",
    class: "list",
    role: "listbox",
    tabindex: 0,
    "aria-label": "Segments",
  });
  const head = make("div", { class: "row head", id: "segments-head", "aria-hidden": "true" });
  const chosen = make("div", {
    id: "segment",
    class: "segment",
    role: "region",
    "aria-label": "Chosen segment",
    tabindex: -1,
  });
  const note = "The browser's own search (find in page) sees only the rows in view; use the search field above. ";
  return [
    make("div", { id: "segments-controls" }),
    make("p", { class: "note", id: "segments-said", role: "status" }),
    make("div", { class: "browser" }, make("div", { class: "list-side" }, head, list), chosen),
    make("p", { class: "note" }, note, make("span", { id: "explained-said" })),
    make("div", { id: "segments-export" }),
    make("table", { class: "printed", id: "segments-printed" }),
  ];
}

// Paper shows the first segments in their current order.
const printing = { list: null };
const fillPrinted = () => printing.list?.print();
addEventListener("beforeprint", fillPrinted);
matchMedia("print").addEventListener("change", (event) => {
  if (event.matches) fillPrinted();
});

function startSegments(scores, place) {
  place.replaceChildren(...segmentsBrowser());
  const pair = scores.systems.length > 1;
  const state = {
    metric: 0,
    first: 0,
    second: pair ? 1 : null,
    sort: pair ? "difference" : "low",
    show: "all",
    query: "",
    chosen: null,
  };
  const list = new SegmentList(scores, state);
  const controls = byId("segments-controls");
  const systems = scores.systems.map((name, at) => [at, name]);
  const sorts = Object.entries(SORTS)
    .filter(([name]) => pair || ALONE.includes(name))
    .map(([name, [text]]) => [name, pair ? text : text.replace(" of A", "")]);
  const shows = Object.entries(SHOWS)
    .filter(([name]) => (name === "explained" ? scores.explanations.segments.size > 0 : pair || name === "all"))
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
  const metrics = scores.metrics.map((metric, at) => [at, metric.name]);
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
  printing.list = list;
  return list;
}
