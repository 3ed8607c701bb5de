// Which words of two texts matched: coloured by closeness, with lines between them.

const SHADES = 5;

function shade(closeness, [low, high]) {
  const share = high > low ? (closeness - low) / (high - low) : 1;
  return Math.round(SHADES * Math.min(Math.max(share, 0), 1));
}

function alignmentView(found) {
  const view = make("div", { class: "alignment" });
  const lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  lines.setAttribute("aria-hidden", "true");
  const said = make("p", { class: "said", role: "status" });
  const sides = [
    wordLine("output", found.hypothesis, found, 0),
    wordLine("reference", found.reference, found, 1),
  ];
  view.append(lines, sides[0].line, sides[1].line, said);

  const paths = found.links.map(([, , closeness]) => {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("opacity", (0.12 + 0.13 * shade(closeness, found.range)).toFixed(2));
    lines.append(path);
    return path;
  });
  const draw = () => {
    const base = view.getBoundingClientRect();
    found.links.forEach(([i, j], at) => {
      const from = sides[0].words[i].getBoundingClientRect();
      const to = sides[1].words[j].getBoundingClientRect();
      const x1 = from.left + from.width / 2 - base.left, y1 = from.bottom - base.top;
      const x2 = to.left + to.width / 2 - base.left, y2 = to.top - base.top;
      const middle = (y1 + y2) / 2;
      paths[at].setAttribute("d", `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`);
    });
  };
  new ResizeObserver(draw).observe(view);

  // The word under the pointer or the focus, and what it is linked to.
  const point = (side, place) => {
    sides.forEach(({ words }) => words.forEach((word) => word.classList.remove("on")));
    paths.forEach((path) => path.classList.remove("on"));
    if (place === null) return;
    sides[side].words[place].classList.add("on");
    const partners = [];
    found.links.forEach(([i, j, closeness], at) => {
      if ([i, j][side] !== place) return;
      const other = [j, i][side];
      paths[at].classList.add("on");
      sides[1 - side].words[other].classList.add("on");
      partners.push(`${sides[1 - side].words[other].textContent} (${(closeness / 1000).toFixed(2)})`);
    });
    said.textContent = `${sides[side].words[place].textContent}: ${partners.join(", ") || "matched by nothing"}`;
  };
  sides.forEach(({ words }, side) => words.forEach((word, place) => {
    word.addEventListener("pointerenter", () => point(side, place));
    word.addEventListener("pointerleave", () => point(side, null));
    word.addEventListener("focus", () => point(side, place));
    word.addEventListener("click", () => point(side, place));
    word.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = step && words[place + step];
      if (!next) return;
      event.preventDefault();
      word.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }));
  return view;
}

// The words of one side; the keyboard reaches the line, arrows its words.
function wordLine(name, texts, found, side) {
  const best = new Map();
  found.links.forEach((link) => best.set(link[side], Math.max(best.get(link[side]) ?? -Infinity, link[2])));
  const line = make("div", { class: "line", role: "group", "aria-label": `words of the ${name}`, dir: "auto" });
  line.append(make("span", { class: "side", dir: "ltr", text: name }));
  const words = texts.map((text, place) => {
    const level = best.has(place) ? shade(best.get(place), found.range) : 0;
    const kind = best.has(place) ? `word near-${level}` : "word alone";
    return userText("button", text, { type: "button", class: kind, tabindex: place === 0 ? 0 : -1 });
  });
  line.append(...words);
  return { line, words };
}

function alignmentKey(range, kind) {
  const swatches = make("span", { class: "swatches", "aria-hidden": "true" });
  for (let level = 0; level <= SHADES; level += 1) swatches.append(make("i", { class: `near-${level}` }));
  const what = kind === "flow" ? "nearness (1 − cost / largest cost)" : "similarity";
  const [low, high] = range.map((end) => (end / 1000).toFixed(2));
  return make("p", { class: "note" }, `Colour is ${what}: ${low}`, swatches, `${high}. Point at a word, or move with the arrow keys, to see what it matched; a dashed word matched nothing.`);
}
