// Which words of two texts matched: coloured by how close they are, with lines between them.

const SHADES = 5;

// 0 to 5; the range goes from the far end to the near one, so costs and similarities are read alike.
function shade(value, [far, near]) {
  const share = far === near ? 1 : (value - far) / (near - far);
  return Math.round(SHADES * Math.min(Math.max(share, 0), 1));
}

// found: words of both texts and what is said of them; alignment: links between them, of one kind.
function alignmentView(found, alignment) {
  const view = make("div", { class: "alignment" });
  const drawing = svg("svg", { "aria-hidden": "true" });
  const sentence = withQuotesIsolated(found.sentence);
  const said = make("p", { class: "said", role: "status", text: sentence });
  const sides = [0, 1].map((side) => wordLine(found, alignment, side));
  view.append(drawing, sides[0].line, sides[1].line, said);
  const paths = alignment.links.map(([, , value]) => {
    const path = svg("path", { opacity: (0.14 + 0.13 * shade(value, alignment.range)).toFixed(2) });
    drawing.append(path);
    return path;
  });
  new ResizeObserver(() => drawLinks(view, sides, alignment.links, paths)).observe(view);

  // The word under the pointer or the focus, and what it is linked to.
  const point = (side, place) => {
    view.querySelectorAll(".on").forEach((shown) => shown.classList.remove("on"));
    if (place === null) {
      said.textContent = sentence;
      return;
    }
    sides[side].words[place].classList.add("on");
    alignment.links.forEach((link, at) => {
      if (link[side] !== place) return;
      paths[at].classList.add("on");
      sides[1 - side].words[link[1 - side]].classList.add("on");
    });
    said.textContent = sayWord(found, alignment, side, place);
  };
  sides.forEach(({ words }, side) =>
    words.forEach((word, place) => {
      word.addEventListener("pointerenter", () => point(side, place));
      word.addEventListener("pointerleave", () => point(side, null));
      word.addEventListener("focus", () => point(side, place));
      word.addEventListener("blur", () => point(side, null));
      word.addEventListener("click", () => point(side, place));
      word.addEventListener("keydown", (event) => moveAlong(event, words, place));
    }),
  );
  return view;
}

// Lines between texts of several rows would run across words, and each across the others: there only those of the word
// that is pointed at are drawn.
const wraps = ({ words }) => words.some((word) => word.offsetTop !== words[0].offsetTop);

function drawLinks(view, sides, links, paths) {
  view.classList.toggle("wrapped", sides.some(wraps));
  const base = view.getBoundingClientRect();
  links.forEach(([i, j], at) => {
    const from = sides[0].words[i].getBoundingClientRect();
    const to = sides[1].words[j].getBoundingClientRect();
    const x1 = from.left + from.width / 2 - base.left,
      y1 = from.bottom - base.top;
    const x2 = to.left + to.width / 2 - base.left,
      y2 = to.top - base.top;
    const middle = (y1 + y2) / 2;
    paths[at].setAttribute("d", `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`);
  });
}

function sayWord(found, alignment, side, place) {
  const partners = alignment.links
    .filter((link) => link[side] === place)
    .map((link) => `${isolated(found.words[1 - side][link[1 - side]])} (${(link[2] / 1000).toFixed(2)})`);
  const removed = found.removed[side][place];
  const parts = [
    removed
      ? `not counted: ${removed}`
      : partners.length
        ? `${alignment.kind === "flow" ? "moves to" : "matched with"} ${partners.join(", ")}`
        : "matched with no word",
  ];
  const given = alignment.contributions[side];
  if (given && !removed) parts.push(`contributes ${(given[place + 1] / 10000).toFixed(4)} to ${given[0]}`);
  return `${isolated(found.words[side][place])}: ${parts.join("; ")}`;
}

// The keyboard reaches a line of words, and arrows its words.
function moveAlong(event, words, place) {
  const leftwards = getComputedStyle(words[place]).direction === "rtl" ? 1 : -1;
  const step = { ArrowRight: -leftwards, ArrowLeft: leftwards }[event.key];
  const next = step && words[place + step];
  if (!next) return;
  event.preventDefault();
  words[place].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function wordLine(found, alignment, side) {
  const name = side ? found.against : "output";
  const near = new Map();
  alignment.links.forEach((link) => {
    const level = shade(link[2], alignment.range);
    near.set(link[side], Math.max(near.get(link[side]) ?? 0, level));
  });
  const line = make("div", { class: "line", role: "group", "aria-label": `words of the ${name}` });
  line.append(make("span", { class: "side", text: name }));
  // Words have no direction of their own: the line takes its direction from them.
  const words = found.words[side].map((text, place) =>
    make("button", {
      text,
      type: "button",
      tabindex: place === 0 ? 0 : -1,
      class: near.has(place) ? `word near-${near.get(place)}` : "word alone",
    }),
  );
  line.append(make("div", { class: "line-words", dir: "auto" }, ...words));
  return { line, words };
}

function alignmentKey(alignment) {
  const swatches = make("span", { class: "swatches", "aria-hidden": "true" });
  for (let level = 0; level <= SHADES; level += 1) swatches.append(make("i", { class: `near-${level}` }));
  const [far, near] = alignment.range.map((end) => (end / 1000).toFixed(2));
  return make(
    "p",
    { class: "note key-of-alignment" },
    `${alignment.costs ? "Cost" : "Similarity"} ${far}`,
    swatches,
    `${near}. Point at a word, or move with the arrow keys, to see what it matched; `,
    "a dashed word matched none, or does not count.",
  );
}
