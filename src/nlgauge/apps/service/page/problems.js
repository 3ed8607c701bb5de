// Errors in the form, shown at the fields: before a request, and after the service refused one.

// Mistakes that the page finds itself: a list of {field, message, input} or {metrics: message}.
function formMistakes(fields, metrics) {
  const mistakes = [];
  const texts = fields.lines;
  const [first] = fields.systems;
  const count = texts.get(first.field).length;
  if (!count) mistakes.push({ field: first.field, message: "Enter the outputs of the system, one per line." });
  const names = new Set();
  for (const { field, name } of fields.systems) {
    const text = name.value.trim();
    if (!text) mistakes.push({ field, input: name, message: "Enter a name for this system." });
    else if (names.has(text))
      mistakes.push({ field, input: name, message: `Two systems are named ${text}. Rename one of them.` });
    names.add(text);
  }
  const others = [...fields.systems.slice(1), ...fields.references].map(({ field }) => field);
  for (const field of [...others, fields.sources]) {
    const lines = texts.get(field).length;
    const mayBeEmpty = field === fields.sources || fields.references.some((entry) => entry.field === field);
    if (count && lines !== count && !(mayBeEmpty && !lines))
      mistakes.push({ field, message: unequalLines(lines, count) });
  }
  const { recipes } = metrics;
  if (!recipes.length) mistakes.push({ metrics: "Choose at least one metric." });
  const twice = recipes.find((recipe, i) => recipes.indexOf(recipe) !== i);
  if (twice) mistakes.push({ metrics: `${twice} is chosen twice. Remove one of them.` });
  const references = fields.references.map(({ field }) => field);
  if (metrics.reads("refs") && references.every((field) => !texts.get(field).length))
    mistakes.push({ field: references[0], message: "The chosen metrics need references. Enter one per line." });
  if (metrics.reads("source") && !texts.get(fields.sources).length)
    mistakes.push({ field: fields.sources, message: "A chosen metric needs sources. Enter one per line." });
  return mistakes;
}

// The limit that the form exceeds, with a remedy; empty if there is none.
function sizeMistake(fields) {
  const { job_texts: mostTexts, job_bytes: mostBytes, systems: mostSystems } = service.limits;
  const shown = (number) => number.toLocaleString("en");
  const tooMany = (what, count, most, option) =>
    `Too many ${what} (${shown(count)}; limit ${shown(most)}). ` +
    `Use fewer systems, or ask the operator to raise ${option}.`;
  if (fields.systems.length > mostSystems)
    return tooMany("systems", fields.systems.length, mostSystems, "--max-systems");
  if (fields.count > mostTexts) return tooMany("texts", fields.count, mostTexts, "--max-job-texts");
  const letters = fields.all.reduce((sum, { text }) => sum + text.length, 0);
  return letters > mostBytes ? tooMany("bytes", letters, mostBytes, "--max-job-bytes") : "";
}

function showSize(fields) {
  const words = sizeMistake(fields);
  const place = byId("size-error");
  if (place.textContent !== words) place.textContent = words;
  return words;
}

const unequalLines = (count, first) =>
  `${counted(count, "line")} here, but ${first.toLocaleString("en")} in system 1. Both need the same number.`;

function clearMistakes(fields, metrics) {
  for (const field of fields.all) field.complain("");
  metrics.complain("");
  byId("form-error").textContent = "";
}

// Show mistakes at their fields, and move the focus to the first.
function showMistakes(mistakes, metrics) {
  for (const { field, message, input, metrics: ofMetrics } of mistakes) {
    if (field) field.complain(message, input);
    else metrics.complain(ofMetrics);
  }
  const [first] = mistakes;
  if (first?.field) (first.input ?? first.field.box).focus();
  else if (first) metrics.entries.values().next().value?.box.focus();
}

// Show a refusal of the service at the field that it names, or next to the button.
function showProblem(error, fields, metrics) {
  const words = inWords(error);
  const kind = error instanceof Problem ? error.kind : "";
  const field = ["input", "text-too-long"].includes(kind) ? namedField(error.message, fields) : null;
  if (kind === "form" && showForm(error, fields, metrics)) return;
  if (kind === "model-not-found") byId("model-error").textContent = words;
  else if (kind === "too-many-metrics") metrics.complain(words);
  else if (["recipe", "missing-extra"].includes(kind)) showRecipe(words, metrics);
  else if (field) showMistakes([{ field, message: words }], metrics);
  else byId("form-error").textContent = words;
}

// The message of an error as a sentence.
function inWords(error) {
  if (error instanceof Problem && error.status === 429)
    return `The service is busy: ${error.message}. Try again in ${counted(error.retryAfter || 1, "second")}.`;
  const text = withoutFlags(error.message || String(error)).replace(
    /\bsegment (\d+)\b/g, // the library counts from 0
    (_, index) => `line ${Number(index) + 1}`,
  );
  return `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

// A message of the library without its advice for the command line.
function withoutFlags(text) {
  return text
    .replace(/ \(--[\w-]+\)|, --[\w-]+( \w+)?(?=\))/g, "")
    .replace(/\(--[\w-]+ [\w-]+: /g, "(")
    .replace("use 'long': 'windows'", "give the metric the option window=model, as in bertscore:window=model")
    .replace("('empty': 'zero')", "(under “Advanced”, below the metrics)");
}

// Show a refused recipe at the metric or line that the message resembles most, else above all metrics.
function showRecipe(words, metrics) {
  const partsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}.-]+/gu) ?? [];
  const mentioned = new Set(partsOf(words).map((part) => part.replace(/\.$/, "")));
  let nearest = { share: 0, entry: null };
  metrics.recipes.forEach((recipe, i) => {
    const parts = partsOf(recipe);
    const share = parts.filter((part) => mentioned.has(part)).length / parts.length;
    // Typed recipes come after the chosen metrics and have no entry.
    if (share > nearest.share) nearest = { share, entry: metrics.chosen[i] ?? null };
  });
  const { share, entry } = nearest;
  if (!share) {
    metrics.complain(words);
  } else if (entry) {
    entry.error.textContent = words;
    entry.options.setAttribute("aria-invalid", "true");
    entry.options.focus();
  } else {
    byId("further").open = true;
    byId("recipes-error").textContent = words;
    byId("recipes").focus();
  }
}

// Show errors at places such as body.systems.a[3]; whether there was a field for one.
function showForm(error, fields, metrics) {
  const mistakes = [];
  for (const { where, what } of error.errors) {
    const [, part, rest = ""] = /^body\.(\w+)(.*)$/.exec(where) ?? [];
    const line = /\[(\d+)\]/.exec(rest)?.[1];
    const message = `${line === undefined ? "" : `Line ${Number(line) + 1}: `}${what}.`;
    if (part === "metric" || part === "options") mistakes.push({ metrics: message });
    if (part === "refs") mistakes.push({ field: fields.references[0].field, message });
    if (part === "sources") mistakes.push({ field: fields.sources, message });
    if (part === "systems") {
      const entry = fields.systems.find(({ name }) => rest.startsWith(`.${name.value.trim()}`));
      mistakes.push({ field: (entry ?? fields.systems[0]).field, message });
    }
  }
  showMistakes(mistakes, metrics);
  return mistakes.length > 0;
}

// The field that a message of the library names: system 'a', refs[2], sources.
function namedField(message, fields) {
  const system = /system '([^']*)'/.exec(message)?.[1];
  const entry = fields.systems.find(({ name }) => name.value.trim() === system);
  if (entry) return entry.field;
  if (/^hyps\b/.test(message)) return fields.systems[0].field;
  if (/^(refs|references)\b/.test(message)) return fields.references[0].field;
  return /^sources?\b/.test(message) ? fields.sources : null;
}
