// The list of segments: sorted, filtered, searched. Only rows in view are elements.

const ROW = 36;
const AROUND = 6;
const PRINTED = 50;

const SORTS = {
  difference: ["largest difference first", (r, s) => (i) => -Math.abs(r.difference(s.metric, s.first, s.second, i))],
  ahead: ["A better first", (r, s) => (i) => -r.difference(s.metric, s.first, s.second, i)],
  behind: ["B better first", (r, s) => (i) => r.difference(s.metric, s.first, s.second, i)],
  low: ["worst score of A first", (r, s) => (i) => oriented(r, s, i)],
  high: ["best score of A first", (r, s) => (i) => -oriented(r, s, i)],
  spread: ["widest range of all systems first", (r, s) => (i) => -r.spread(s.metric, i)],
  segment: ["line number", () => (i) => i],
};
const ALONE = ["low", "high", "segment"];

const SHOWS = {
  all: ["all", () => true],
  first: ["A better", (r, s, i) => r.difference(s.metric, s.first, s.second, i) > 0],
  second: ["B better", (r, s, i) => r.difference(s.metric, s.first, s.second, i) < 0],
  equal: ["equal", (r, s, i) => r.difference(s.metric, s.first, s.second, i) === 0],
  explained: ["with alignments", (r, _, i) => r.explanations.segments.has(i)],
};

function oriented(scores, state, segment) {
  const score = scores.score(state.metric, state.first, segment);
  return scores.metrics[state.metric].higher ? score : -score;
}

function chosenSegments(scores, state) {
  const query = state.query.trim().toLocaleLowerCase();
  const passes = SHOWS[state.show][1];
  const segments = [];
  for (let i = 0; i < scores.count; i += 1) {
    if (passes(scores, state, i) && (!query || scores.searchable(i).includes(query))) segments.push(i);
  }
  const key = SORTS[state.sort][1](scores, state);
  const keys = new Map(segments.map((i) => [i, key(i)]));
  return segments.sort((one, two) => keys.get(one) - keys.get(two) || one - two);
}

class SegmentList {
  constructor(scores, state) {
    this.scores = scores;
    this.state = state;
    this.list = byId("segments-list");
    this.space = make("div", { class: "space", role: "presentation" });
    this.list.append(this.space);
    this.order = [];
    this.at = -1;
    this.list.addEventListener("scroll", () => this.draw(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.space.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.choose(Number(row.dataset.place));
    });
    new ResizeObserver(() => this.draw()).observe(this.list);
  }

  refresh() {
    const { scores, state } = this;
    this.order = chosenSegments(scores, state);
    this.at = this.order.indexOf(state.chosen);
    this.space.style.height = `${this.order.length * ROW}px`;
    this.list.scrollTop = 0;
    const all = `${counted(scores.count, "segment")}${scores.names ? "" : ", numbered from 1"}`;
    const shown = this.order.length === scores.count ? all : `${this.order.length.toLocaleString("en")} of ${all}`;
    byId("segments-said").textContent =
      `${shown}. A − B above 0: A has the better ${scores.metrics[state.metric].name}.`;
    if (state.second === null) byId("segments-said").textContent = `${shown}.`;
    this.head();
    this.draw();
    if (this.at < 0) this.choose(0, { quiet: true });
    else showSegment(scores, state, state.chosen, (step) => this.step(step));
  }

  head() {
    const pair = this.state.second !== null;
    const cells = pair ? ["segment", "A − B", "A", "B", "output of A"] : ["segment", "score", "output"];
    const kinds = pair ? ["num", "num", "num score", "num score", "text"] : ["num", "num", "text"];
    const head = byId("segments-head");
    head.classList.toggle("single", !pair);
    head.replaceChildren(...cells.map((text, i) => make("span", { class: kinds[i], text })));
  }

  draw() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - AROUND);
    const last = Math.min(
      this.order.length,
      Math.ceil((this.list.scrollTop + this.list.clientHeight) / ROW) + AROUND,
    );
    const rows = [];
    for (let place = first; place < last; place += 1) rows.push(this.row(place));
    if (!this.order.length)
      rows.push(
        make("div", { class: "empty", role: "option", "aria-disabled": "true", text: "No segment matches." }),
      );
    this.space.replaceChildren(...rows);
    const drawn = this.at >= first && this.at < last;
    if (drawn) this.list.setAttribute("aria-activedescendant", `row-${this.at}`);
    else this.list.removeAttribute("aria-activedescendant");
  }

  row(place) {
    const { scores, state } = this;
    const segment = this.order[place];
    const decimals = scores.metrics[state.metric].shown;
    const pair = state.second !== null;
    const text = scores.output(state.first, segment) ?? "";
    const scoreOf = (system) => formatted(scores.score(state.metric, system, segment), decimals);
    const numbers = pair
      ? [
          this.difference(segment, decimals),
          make("span", { class: "num score", text: scoreOf(state.first) }),
          make("span", { class: "num score", text: scoreOf(state.second) }),
        ]
      : [make("span", { class: "num", text: scoreOf(state.first) })];
    const row = make(
      "div",
      {
        class: pair ? "row" : "row single",
        role: "option",
        id: `row-${place}`,
        "data-place": place,
        "data-segment": segment,
        "aria-selected": String(place === this.at),
        "aria-setsize": this.order.length,
        "aria-posinset": place + 1,
      },
      make("span", { class: "num", text: scores.label(segment) }),
      ...numbers,
      userText("span", text.slice(0, 160), { class: "text" }),
    );
    row.style.top = `${place * ROW}px`;
    return row;
  }

  difference(segment, decimals) {
    const { metric, first, second } = this.state;
    const difference = this.scores.difference(metric, first, second, segment);
    const side = difference > 0 ? "num ahead" : difference < 0 ? "num behind" : "num";
    return make("span", { class: side, text: formatted(difference, decimals, { sign: true }) });
  }

  choose(place, { quiet = false } = {}) {
    if (place < 0 || place >= this.order.length) {
      if (!this.order.length) byId("segment").replaceChildren();
      return;
    }
    this.at = place;
    const top = place * ROW;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top + ROW > this.list.scrollTop + this.list.clientHeight)
      this.list.scrollTop = top + ROW - this.list.clientHeight;
    this.draw();
    showSegment(this.scores, this.state, this.order[place], (step) => this.step(step));
    if (!quiet && matchMedia("(max-width: 60rem)").matches) byId("segment").scrollIntoView({ block: "nearest" });
  }

  // Show a segment that was chosen elsewhere on the page; filters that hide it are reset.
  open(segment) {
    if (!this.order.includes(segment)) {
      this.state.show = "all";
      this.state.query = "";
      this.state.chosen = segment;
      this.changed();
    }
    this.choose(this.order.indexOf(segment), { quiet: true });
  }

  step(step) {
    this.choose(Math.min(Math.max(this.at + step, 0), this.order.length - 1), { quiet: true });
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const moves = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -this.order.length,
      End: this.order.length,
    };
    if (!(event.key in moves) || !this.order.length) return;
    event.preventDefault();
    this.step(moves[event.key]);
  }

  // Rows in their current order, for paper and for the clipboard.
  cells(places) {
    const { scores, state } = this;
    const decimals = scores.metrics[state.metric].shown;
    const pair = state.second !== null;
    const systems = pair ? [state.first, state.second] : [state.first];
    const head = ["segment", ...(pair ? ["difference"] : []), ...systems.map((system) => scores.systems[system])];
    if (scores.texts) head.push("reference", ...systems.map((system) => `output of ${scores.systems[system]}`));
    const plain = (value) => formatted(value, decimals).replace("−", "-");
    const rows = this.order.slice(0, places).map((segment) => {
      const values = systems.map((system) => plain(scores.score(state.metric, system, segment)));
      const difference = pair ? [plain(scores.difference(state.metric, state.first, state.second, segment))] : [];
      const texts = scores.texts
        ? [scores.references(segment)[0] ?? "", ...systems.map((system) => scores.output(system, segment) ?? "")]
        : [];
      return [scores.label(segment), ...difference, ...values, ...texts];
    });
    return [head, ...rows];
  }

  print() {
    const [head, ...rows] = this.cells(PRINTED);
    const shown = `The first ${rows.length} of ${counted(this.order.length, "segment")}`;
    const metric = this.scores.metrics[this.state.metric].name;
    const caption = `${shown}, sorted by ${SORTS[this.state.sort][0]} (${metric})`;
    byId("segments-printed").replaceChildren(
      make("caption", { text: caption }),
      make("thead", {}, make("tr", {}, ...head.map((text) => userText("th", text, { scope: "col" })))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text) => userText("td", text))))),
    );
  }
}
