// The choice of metrics, their options and the model, from what the service offers.

class MetricChoice {
  constructor(records, models, changed) {
    this.changed = changed;
    this.entries = new Map(); // name -> {record, box, options, more}
    const offered = records.filter((record) => record.available);
    const first = FIRST.flatMap((name) => offered.filter((record) => record.name === name));
    const others = offered.filter((record) => !first.includes(record));
    const groups = [
      ["With references", others.filter((record) => !comparesWithSource(record))],
      ["With sources, without references", others.filter(comparesWithSource)],
    ].filter(([, members]) => members.length);
    const most = this.group(make("legend", { class: "unseen", text: "Most used metrics" }), first);
    this.folded = make(
      "details",
      { id: "more-metrics", hidden: !others.length },
      make("summary", { text: `More metrics (${others.length})` }),
      ...groups.map(([title, members]) => this.group(make("legend", { text: title }), members)),
    );
    byId("metric-groups").replaceChildren(most, this.folded);
    this.folded.append(byId("metrics-elsewhere"));
    this.showUnavailable(records.filter((record) => !record.available));
    this.offerModels(models);
    byId("recipes").addEventListener("input", () => this.edited());
    byId("empty").addEventListener("change", () => this.edited());
  }

  // Metrics that the service does not offer, grouped by the reason.
  showUnavailable(records) {
    const names = new Map();
    for (const { name, reason } of records) names.set(reason, [...(names.get(reason) ?? []), name]);
    const parts = [...names].map(([reason, members]) => `${members.join(", ")} (${reason})`);
    byId("metrics-elsewhere").textContent = parts.length ? `Not available here: ${parts.join("; ")}.` : "";
  }

  edited() {
    this.complain("");
    this.changed();
  }

  group(legend, records) {
    const cards = records.map((record) => this.card(record));
    return make("fieldset", {}, legend, make("div", { class: "cards" }, ...cards));
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
      make(
        "div",
        { class: "field" },
        make("label", { for: options.id, text: `Options of ${metricTitle(name)}` }),
        options,
      ),
      error,
      optionList(record),
    );
    box.addEventListener("change", () => {
      more.hidden = !box.checked;
      this.edited();
    });
    options.addEventListener("input", () => this.edited());
    this.entries.set(name, { record, box, options, more, error });
    return make(
      "div",
      { class: "card" },
      make("div", { class: "card-head" }, box, make("label", { for: box.id, text: metricTitle(name) })),
      make("p", { class: "about", id: `about-${name}` }, ...withCode(metricUse(record))),
      more,
    );
  }

  offerModels(models) {
    const select = byId("model");
    const encoders = models.filter((model) => model.available && model.kind === "encoder");
    select.replaceChildren(make("option", { value: "", text: "default of the metric" }));
    for (const { name, languages } of encoders) {
      select.append(make("option", { value: name, text: `${name} (${languagesInWords(languages)})` }));
    }
    this.models = new Map(encoders.map((model) => [model.name, model]));
    select.addEventListener("change", () => {
      this.describeModel();
      this.edited();
    });
    this.describeModel();
  }

  describeModel() {
    const model = this.models.get(byId("model").value);
    byId("model-note").textContent = model
      ? `${model.origin}, ${model.layers ? counted(model.layers, "layer") : "sentence vectors"}, ${model.licence}`
      : "BLEU, chrF and ROUGE need no model.";
  }

  // Warn if the texts seem to be in a language that a model of the chosen metrics does not cover.
  checkLanguage(text) {
    const code = guessLanguage(text);
    const chosen = byId("model").value;
    const names = this.chosen.flatMap(({ record }) =>
      record.options.filter(({ name }) => name === "model").map((option) => chosen || option.default),
    );
    const unfit = names
      .map((name) => this.models.get(name))
      .find((model) => model && !model.languages.includes(code));
    const fit = [...this.models.values()].filter((model) => model.languages.includes(code)).map(({ name }) => name);
    const hint = fit.length ? ` A model that covers it: ${fit.join(", ")}.` : "";
    byId("language-note").textContent =
      code && unfit
        ? `The texts seem to be in ${languageName(code)}. Model ${unfit.name} covers ` +
          `${languagesInWords(unfit.languages)}, so its scores may be unreliable.${hint} chrF and BLEU need no model.`
        : "";
  }

  get chosen() {
    return [...this.entries.values()].filter(({ box }) => box.checked);
  }

  // Recipes as requests have them: chosen metrics with their options, then recipes that were typed.
  get recipes() {
    const named = this.chosen.map(({ record, options }) => {
      const settings = options.value
        .split(/[,;\n]/)
        .map((part) => part.trim())
        .filter(Boolean);
      return settings.length ? `${record.name}:${settings.join(",")}` : record.name;
    });
    return [
      ...named,
      ...splitLines(byId("recipes").value)
        .map((line) => line.trim())
        .filter(Boolean),
    ];
  }

  // The part of a request about metrics and empty texts.
  body() {
    const { recipes, options } = this;
    return { metric: recipes, options, ...(byId("empty").checked ? { empty: "zero" } : {}) };
  }

  // The model is sent only if a metric has that option: otherwise the service would refuse it.
  get options() {
    const model = byId("model").value;
    const names = this.recipes.filter((recipe) => !recipe.includes("|")).map((recipe) => recipe.split(":")[0]);
    const known = names.some((name) =>
      this.entries.get(name)?.record.options.some((option) => option.name === "model"),
    );
    return model && known ? { model } : {};
  }

  // Whether a chosen metric compares with sources, or with references.
  reads(what) {
    return this.recipes.some((recipe) => {
      const setting = /[:,|]against[:=](source|refs)/.exec(recipe)?.[1];
      const record = this.entries.get(recipe.split(/[:|]/)[0])?.record;
      const against = setting ?? (record && comparesWithSource(record) ? "source" : "refs");
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
    for (const [name, settings] of metrics) {
      const entry = this.entries.get(name);
      if (!entry) continue;
      entry.box.checked = true;
      entry.options.value = settings ?? "";
      entry.more.hidden = false;
    }
    this.folded.open = metrics.some(([name]) => this.entries.has(name) && !FIRST.includes(name));
    byId("model").value = this.models.has(model) ? model : "";
    const missing = metrics.map(([name]) => name).filter((name) => !this.entries.has(name));
    byId("recipes").value = recipes;
    byId("empty").checked = empty === true;
    byId("further").open = Boolean(recipes) || byId("empty").checked;
    this.describeModel();
    // The link comes from another service. Without a message, the reader would trust numbers of other metrics.
    this.complain(
      missing.length ? `This service does not have these metrics of the link: ${missing.join(", ")}.` : "",
    );
    if (model && !this.models.has(model))
      byId("model-error").textContent = `This service does not have the model of the link: ${model}.`;
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
  record.options.some((option) => option.name === "against" && option.default === "source");

function optionList(record) {
  const rows = record.options.flatMap(({ name, default: value, values, help }) => [
    make("dt", {}, make("code", { text: name }), ` = ${value}`),
    make("dd", {}, ...withCode(help), make("span", { class: "values", text: `: ${values}` })),
  ]);
  return make("details", {}, make("summary", { text: "All options" }), make("dl", {}, ...rows));
}

const languagesInWords = (codes) =>
  codes.length > 4 ? `${codes.length} languages` : codes.map(inEnglish).join(", ");

const inEnglish = (code) => (code in LANGUAGES ? languageName(code) : code);

// Text with the parts between back-ticks as code.
const withCode = (text) => text.split("`").map((part, i) => (i % 2 ? make("code", { text: part }) : part));
