// Small SVG figures that fill their width. Positions are percentages, so dots stay round.

const SVG = "http://www.w3.org/2000/svg";

function svg(element, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, element);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// Maps numbers to percentages of a figure's width, with a margin at both ends.
function scaleOver(values, margin = 0.06) {
  const low = Math.min(...values),
    high = Math.max(...values);
  const room = margin * (high - low) || Math.abs(high) * margin || 1;
  const at = (value) => (100 * (value - low + room)) / (high - low + 2 * room);
  return { low: low - room, high: high + room, at: (value) => Math.min(Math.max(at(value), 0), 100).toFixed(2) };
}

// Round numbers between two ends.
function ticksBetween(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((size) => size * power).find((size) => size >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; i += 1)
    ticks.push({ value: i * step, text: formatted(i * step, digits) });
  return ticks;
}

function gridLines(scale, height) {
  const lines = ticksBetween(scale.low, scale.high).map(({ value }) => {
    const x = `${scale.at(value)}%`;
    return svg("line", { x1: x, x2: x, y1: 0, y2: height, class: "grid" });
  });
  return svg("g", {}, ...lines);
}

// A dot for the score, a bar for its interval.
function intervalBar(scale, score, low, high, label) {
  const marks = [gridLines(scale, 26)];
  if (low !== null && high !== null)
    marks.push(svg("line", { x1: `${scale.at(low)}%`, x2: `${scale.at(high)}%`, y1: 13, y2: 13, class: "bar" }));
  marks.push(svg("circle", { cx: `${scale.at(score)}%`, cy: 13, r: 4.5, class: "dot" }));
  const attributes = { class: "interval", width: "100%", height: 26, role: "img", "aria-label": label };
  return svg("svg", attributes, ...marks);
}

// Ticks with their numbers, below a column of figures of the same scale.
function axisBelow(scale) {
  const marks = ticksBetween(scale.low, scale.high).flatMap(({ value, text }, order) => {
    const place = scale.at(value);
    const x = `${place}%`;
    const label = svg("text", { x, y: 16, class: order % 2 ? "tick-label second" : "tick-label" }, text);
    if (place < 4 || place > 96) label.setAttribute("text-anchor", place < 4 ? "start" : "end");
    return [svg("line", { x1: x, x2: x, y1: 0, y2: 4, class: "tick" }), label];
  });
  return svg("svg", { class: "axis", width: "100%", height: 20, "aria-hidden": "true" }, ...marks);
}
