// Helpers that create elements. Data always becomes text, never markup.

const byId = (id) => document.getElementById(id);

function make(element, attributes = {}, ...children) {
  const node = document.createElement(element);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// A text in its own direction, independent of its surroundings.
const userText = (element, text, attributes = {}) => make(element, { dir: "auto", text, ...attributes });

// A right-to-left word, isolated so that the words after it keep their order.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const isolated = (text) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text);
const withQuotesIsolated = (sentence) => sentence.replace(/'[^']*'/g, isolated);

// An element that is wider than its place fades out at the right edge until it is scrolled to its end.
function showOverflow(area) {
  const show = () => {
    area.classList.toggle("wider", area.scrollWidth > area.clientWidth + 1);
    area.classList.toggle("more", area.scrollLeft + area.clientWidth < area.scrollWidth - 1);
  };
  area.addEventListener("scroll", show, { passive: true });
  new ResizeObserver(show).observe(area);
}

// A field with its label above it.
let fields = 0;
function field(label, input, attributes = {}) {
  fields += 1;
  input.id = `field-${fields}`;
  return make("div", { class: "field", ...attributes }, make("label", { for: input.id, text: label }), input);
}

function choice(label, options, chosen, changed) {
  const select = make("select");
  for (const [value, text] of options)
    select.append(make("option", { value, text, selected: String(value) === String(chosen) }));
  select.addEventListener("change", () => changed(select.value));
  return { field: field(label, select), select };
}

function formatted(value, decimals, { sign = false } = {}) {
  if (!Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(decimals);
  if (Number(text) === 0) return text;
  return (value < 0 ? "−" : sign ? "+" : "") + text;
}

const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
