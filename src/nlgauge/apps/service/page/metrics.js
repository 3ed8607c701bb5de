// Which metrics, with which options, on which model. What there is the service says.

// Those that most people look for; the others follow.
const FIRST = ["bertscore", "moverscore", "baryscore", "chrf", "bleu"];

class MetricChoice {
  constructor(records, models, changed) {
    this.changed = changed;
    this.entries = new Map(); // name -> {record, box, options, more}
    const offered = records.filter((record) => record.available);
    const first = FIRST.flatMap((name) => offered.filter((record) => record.name === name));
    const sorted = [...first, ...offered.filter((record) => !first.includes(record))];
    const groups = [
      ["With references", sorted.filter((record) => !comparesWithSource(record))],
      ["With sources, without references", sorted.filter(comparesWithSource)],
    ];
    const filled = groups.filter(([, members]) => members.length);
    byId("metric-groups").replaceChildren(...filled.map(([title, members]) => this.group(title, members)));
    this.sayOthers(records.filter((record) => !record.available));
    this.offerModels(models);
    byId("recipes").addEventListener("input", () => this.edited());
    byId("empty").addEventListener("change", () => this.edited());
  }

  // What the service cannot compute, and why; of several with one reason it is said once.
  sayOthers(records) {
    const named = new Map();
    for (const { name, reason } of records) named.set(reason, [...(named.get(reason) ?? []), name]);
    const parts = [...named].map(([reason, names]) => `${names.join(", ")} (${reason})`);
    byId("metrics-elsewhere").textContent = parts.length ? `Not on this page: ${parts.join("; ")}.` : "";
  }

  edited() {
    this.complain("");
    this.changed();
  }

  group(title, records) {
    const cards = records.map((record) => this.card(record));
    return make("fieldset", {}, make("legend", { text: title }), make("div", { class: "cards" }, ...cards));
  }

  card(record) {
    const { name } = record;
    const box = make("input", { type: "checkbox", id: `metric-${name}`, "aria-describedby": `about-${name}` });
    const options = make("input", {
      type: "text",
      id: `options-${name}`,
      spellcheck: "false",
      autocomplete: "off",
      placeholder: "name=value, name=value",
      "aria-describedby": `error-of-${name}`,
    });
    const error = make("p", { class: "field-error", id: `error-of-${name}`, role: "alert" });
    const more = make(
      "div",
      { class: "card-options", hidden: true },
      make("div", { class: "field" }, make("label", { for: options.id, text: `Options of ${name}` }), options),
      error,
      optionList(record),
    );
    box.addEventListener("change", () => {
      more.hidden = !box.checked;
      this.edited();
    });
    options.addEventListener("input", () => this.edited());
    this.entries.set(name, { record, box, options, more, error });
    const better = record.better === "lower" ? "A distance: lower is better." : "Higher is better.";
    const about = `${record.what.replace(/; a distance$/, "")}. `;
    return make(
      "div",
      { class: "card" },
      make("div", { class: "card-head" }, box, make("label", { for: box.id, text: name })),
      make("p", { class: "about", id: `about-${name}` }, ...inCode(about), better),
      more,
    );
  }

  offerModels(models) {
    const select = byId("model");
    const encoders = models.filter((model) => model.available && model.kind === "encoder");
    select.replaceChildren(make("option", { value: "", text: "the metric's own" }));
    for (const { name, languages } of encoders) {
      const spoken = languages.length > 4 ? `${languages.length} languages` : languages.join(", ");
      select.append(make("option", { value: name, text: `${name} (${spoken})` }));
    }
    this.models = new Map(encoders.map((model) => [model.name, model]));
    select.addEventListener("change", () => {
      this.sayModel();
      this.edited();
    });
    this.sayModel();
  }

  sayModel() {
    const model = this.models.get(byId("model").value);
    byId("model-note").textContent = model
      ? `${model.origin}, ${model.layers ? counted(model.layers, "layer") : "sentence vectors"}, ${model.licence}`
      : "Metrics of n-grams (BLEU, chrF, ROUGE) need none.";
  }

  get chosen() {
    return [...this.entries.values()].filter(({ box }) => box.checked);
  }

  // As requests have them: names with options, then what was written by hand.
  get recipes() {
    const named = this.chosen.map(({ record, options }) => {
      const given = options.value
        .split(/[,;\n]/)
        .map((part) => part.trim())
        .filter(Boolean);
      return given.length ? `${record.name}:${given.join(",")}` : record.name;
    });
    return [
      ...named,
      ...splitLines(byId("recipes").value)
        .map((line) => line.trim())
        .filter(Boolean),
    ];
  }

  // What a request says about metrics and empty texts.
  body() {
    const { recipes, options } = this;
    return { metric: recipes, options, ...(byId("empty").checked ? { empty: "zero" } : {}) };
  }

  // The model goes to metrics that have one; without any the option would be refused.
  get options() {
    const model = byId("model").value;
    const names = this.recipes.filter((recipe) => !recipe.includes("|")).map((recipe) => recipe.split(":")[0]);
    const known = names.some((name) => this.entries.get(name)?.record.options.some((one) => one.name === "model"));
    return model && known ? { model } : {};
  }

  // Whether a chosen metric compares with sources, or with references.
  reads(what) {
    return this.recipes.some((recipe) => {
      const given = /[:,|]against[:=](source|refs)/.exec(recipe)?.[1];
      const record = this.entries.get(recipe.split(/[:|]/)[0])?.record;
      const against = given ?? (record && comparesWithSource(record) ? "source" : "refs");
      return against === what;
    });
  }

  state() {
    const metrics = this.chosen.map(({ record, options }) => [record.name, options.value]);
    return { metrics, model: byId("model").value, recipes: byId("recipes").value, empty: byId("empty").checked };
  }

  restore({ metrics = [["bertscore", ""]], model = "", recipes = "", empty = false }) {
    for (const { box, options, more } of this.entries.values()) {
      box.checked = false;
      options.value = "";
      more.hidden = true;
    }
    for (const [name, given] of metrics) {
      const entry = this.entries.get(name);
      if (!entry) continue;
      entry.box.checked = true;
      entry.options.value = given ?? "";
      entry.more.hidden = false;
    }
    byId("model").value = this.models.has(model) ? model : "";
    const missing = metrics.map(([name]) => name).filter((name) => !this.entries.has(name));
    byId("recipes").value = recipes;
    byId("empty").checked = empty === true;
    byId("further").open = Boolean(recipes) || byId("empty").checked;
    this.sayModel();
    // A link of another service; without a word its numbers would be taken for those that were meant.
    this.complain(missing.length ? `The address names what this service does not have: ${missing.join(", ")}.` : "");
    if (model && !this.models.has(model))
      byId("model-error").textContent = `The address names the model ${model}, which this service does not have.`;
  }

  complain(message) {
    for (const { error, options } of this.entries.values()) {
      error.textContent = "";
      options.removeAttribute("aria-invalid");
    }
    for (const id of ["model-error", "recipes-error"]) byId(id).textContent = "";
    byId("metrics-error").textContent = message;
  }
}

const comparesWithSource = (record) =>
  record.options.some(({ name, default: usual }) => name === "against" && usual === "source");

function optionList(record) {
  const rows = record.options.flatMap(({ name, default: usual, values, help }) => [
    make("dt", {}, make("code", { text: name }), ` = ${usual}`),
    make("dd", {}, ...inCode(help), make("span", { class: "values", text: `: ${values}` })),
  ]);
  return make("details", {}, make("summary", { text: "What can be set" }), make("dl", {}, ...rows));
}

// Text of the service with what stands between back-ticks as code.
const inCode = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", { text: part }) : part));
