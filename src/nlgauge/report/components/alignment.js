// The matching words of two texts: coloured by similarity, with lines between them.

const SHADES = 5;

// A shade from 0 to 5. The range goes from far to near, so this works for costs and similarities.
function shade(value, [far, near]) {
  const share = far === near ? 1 : (value - far) / (near - far);
  return Math.round(SHADES * Math.min(Math.max(share, 0), 1));
}

// pair: words of both texts and a sentence about them; alignment: links between the words, of one kind.
function alignmentView(pair, alignment) {
  const view = make("div", { class: "alignment" });
  const drawing = svg("svg", { "aria-hidden": "true" });
  const sentence = withQuotesIsolated(pair.sentence);
  const status = make("p", { class: "said", role: "status", text: sentence });
  const sides = [0, 1].map((side) => wordLine(pair, alignment, side));
  view.append(drawing, sides[0].line, sides[1].line, status);
  const paths = alignment.links.map(([, , value]) => {
    const path = svg("path", { opacity: (0.14 + 0.13 * shade(value, alignment.range)).toFixed(2) });
    drawing.append(path);
    return path;
  });
  new ResizeObserver(() => drawLinks(view, sides, alignment.links, paths)).observe(view);

  // Highlight a word under the pointer or the focus, and its links.
  const point = (side, place) => {
    for (const shown of view.querySelectorAll(".on")) shown.classList.remove("on");
    if (place === null) {
      status.textContent = sentence;
      return;
    }
    sides[side].words[place].classList.add("on");
    alignment.links.forEach((link, i) => {
      if (link[side] !== place) return;
      paths[i].classList.add("on");
      sides[1 - side].words[link[1 - side]].classList.add("on");
    });
    status.textContent = wordInWords(pair, alignment, side, place);
  };
  sides.forEach(({ words }, side) => {
    words.forEach((word, place) => {
      word.addEventListener("pointerenter", () => point(side, place));
      word.addEventListener("pointerleave", () => point(side, null));
      word.addEventListener("focus", () => point(side, place));
      word.addEventListener("blur", () => point(side, null));
      word.addEventListener("click", () => point(side, place));
      word.addEventListener("keydown", (event) => moveAlong(event, words, place));
    });
  });
  return view;
}

// In texts that wrap, lines would cross words and each other: only the lines of the highlighted word are drawn.
const wraps = ({ words }) => words.some((word) => word.offsetTop !== words[0].offsetTop);

function drawLinks(view, sides, links, paths) {
  view.classList.toggle("wrapped", sides.some(wraps));
  const base = view.getBoundingClientRect();
  links.forEach(([i, j], number) => {
    const from = sides[0].words[i].getBoundingClientRect();
    const to = sides[1].words[j].getBoundingClientRect();
    const x1 = from.left + from.width / 2 - base.left,
      y1 = from.bottom - base.top;
    const x2 = to.left + to.width / 2 - base.left,
      y2 = to.top - base.top;
    const middle = (y1 + y2) / 2;
    paths[number].setAttribute("d", `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`);
  });
}

function wordInWords(pair, alignment, side, place) {
  const partners = alignment.links
    .filter((link) => link[side] === place)
    .map((link) => `${isolated(pair.words[1 - side][link[1 - side]])} (${(link[2] / 1000).toFixed(2)})`);
  const removed = pair.removed[side][place];
  const parts = [
    removed
      ? `not counted: ${removed}`
      : partners.length
        ? `${alignment.kind === "flow" ? "moves to" : "matched with"} ${partners.join(", ")}`
        : "matched with no word",
  ];
  const contributions = alignment.contributions[side];
  if (contributions && !removed)
    parts.push(`contributes ${(contributions[place + 1] / 10000).toFixed(4)} to ${contributions[0]}`);
  return `${isolated(pair.words[side][place])}: ${parts.join("; ")}`;
}

// Arrow keys move along a line of words; the line is one tab stop.
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

function wordLine(pair, alignment, side) {
  const name = side ? pair.against : "output";
  const near = new Map();
  alignment.links.forEach((link) => {
    const level = shade(link[2], alignment.range);
    near.set(link[side], Math.max(near.get(link[side]) ?? 0, level));
  });
  const line = make("div", { class: "line", role: "group", "aria-label": `words of the ${name}` });
  line.append(make("span", { class: "side", text: name }));
  // The line takes its direction from the words.
  const words = pair.words[side].map((text, place) =>
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
    `${near}. Point at a word, or use the arrow keys, to see its matches. `,
    "Dashed: no match, or not counted.",
  );
}
