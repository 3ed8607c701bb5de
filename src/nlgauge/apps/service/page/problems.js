// What is wrong with the form, said where it is wrong; before a request, and after the service refused one.

// Mistakes that need no service to be seen: a list of {field, message, input} or {metrics: message}.
function formMistakes(fields, metrics) {
  const found = [];
  const [first] = fields.systems;
  const count = first.field.lines.length;
  if (!count) found.push({ field: first.field, message: "There is no text here yet: a segment a line." });
  const names = new Set();
  for (const { field, name } of fields.systems) {
    const given = name.value.trim();
    if (!given) found.push({ field, input: name, message: "Give this system a name." });
    else if (names.has(given))
      found.push({ field, input: name, message: `Two systems are called ${given}: change one of the names.` });
    names.add(given);
  }
  const others = [...fields.systems.slice(1), ...fields.references].map(({ field }) => field);
  for (const field of [...others, fields.sources]) {
    const lines = field.lines.length;
    const mayBeEmpty = field === fields.sources || fields.references.some((entry) => entry.field === field);
    if (count && lines !== count && !(mayBeEmpty && !lines))
      found.push({ field, message: unequalLines(field.lines, first.field.lines) });
  }
  const { recipes } = metrics;
  if (!recipes.length) found.push({ metrics: "Choose a metric, or several." });
  const twice = recipes.find((recipe, at) => recipes.indexOf(recipe) !== at);
  if (twice) found.push({ metrics: `${twice} is chosen twice.` });
  const references = fields.references.map(({ field }) => field);
  if (metrics.reads("refs") && references.every((field) => !field.lines.length))
    found.push({ field: references[0], message: "The chosen metrics compare with references: give one a line." });
  if (metrics.reads("source") && !fields.sources.lines.length)
    found.push({ field: fields.sources, message: "A chosen metric compares with sources: give one a line." });
  return found;
}

// What the form has too much of for one request, and what to do about it; looked at after every change.
function sizeMistake(fields) {
  const { job_texts: mostTexts, job_bytes: mostBytes, systems: mostSystems } = service.limits;
  const shown = (number) => number.toLocaleString("en");
  if (fields.systems.length > mostSystems)
    return `There are ${shown(fields.systems.length)} systems, and at most ${shown(mostSystems)} are compared.`;
  if (fields.count > mostTexts)
    return (
      `There are ${shown(fields.count)} texts, and at most ${shown(mostTexts)} are scored in one run. Use fewer ` +
      "systems or segments, or start the service with --max-job-texts N."
    );
  const letters = fields.all.reduce((sum, { text }) => sum + text.length, 0);
  if (letters > mostBytes)
    return (
      `The texts have more than ${shown(mostBytes)} bytes. Use fewer systems or segments, or start the service with ` +
      "--max-job-bytes N."
    );
  return "";
}

function showSize(fields) {
  const words = sizeMistake(fields);
  const place = byId("size-error");
  if (place.textContent !== words) place.textContent = words;
  return words;
}

// After a paste it is mostly a blank line too many.
function unequalLines(here, first) {
  const endsBlank = (lines) => lines.at(-1)?.trim() === "";
  const parts = [`${counted(here.length, "line")} here, and ${first.length.toLocaleString("en")} in system 1.`];
  if (endsBlank(here)) parts.push("The last line here is blank.");
  if (endsBlank(first)) parts.push("The last line of system 1 is blank.");
  return parts.join(" ");
}

function clearMistakes(fields, metrics) {
  for (const field of fields.all) field.complain("");
  metrics.complain("");
  byId("form-error").textContent = "";
}

// Shows mistakes, and puts the focus on the first.
function showMistakes(found, metrics) {
  for (const { field, message, input, metrics: ofMetrics } of found) {
    if (field) field.complain(message, input);
    else metrics.complain(ofMetrics);
  }
  const [first] = found;
  if (first?.field) (first.input ?? first.field.box).focus();
  else if (first) metrics.entries.values().next().value?.box.focus();
}

// What the service refused, at the field that it speaks of, or beside the button.
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

// A sentence, whatever it was.
function inWords(error) {
  if (error instanceof Problem && error.status === 429)
    return `The service is busy: ${error.message}. Try again in ${counted(error.retryAfter || 1, "second")}.`;
  const text = withoutFlags(error.message || String(error));
  return `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

// What the library says, for somebody who has a page before him, not a command line.
function withoutFlags(text) {
  return text
    .replace(/ \(--[\w-]+\)|, --[\w-]+( \w+)?(?=\))/g, "")
    .replace(/\(--[\w-]+ [\w-]+: /g, "(")
    .replace("use long='windows'", "give the metric the option window=model, as in bertscore:window=model")
    .replace("(empty='zero')", "(under “More”, below the metrics)");
}

// A recipe that is refused: at the metric or the line whose parts the message names, or above all metrics.
function showRecipe(words, metrics) {
  const partsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}.-]+/gu) ?? [];
  const named = new Set(partsOf(words).map((part) => part.replace(/\.$/, "")));
  let nearest = { share: 0, entry: null };
  metrics.recipes.forEach((recipe, at) => {
    const parts = partsOf(recipe);
    const share = parts.filter((part) => named.has(part)).length / parts.length;
    // Recipes that were written by hand come after the chosen metrics, and have no entry.
    if (share > nearest.share) nearest = { share, entry: metrics.chosen[at] ?? null };
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

// Places such as body.systems.a[3]; whether one was found.
function showForm(error, fields, metrics) {
  const found = [];
  for (const { where, what } of error.errors) {
    const [, part, rest = ""] = /^body\.(\w+)(.*)$/.exec(where) ?? [];
    const line = /\[(\d+)\]/.exec(rest)?.[1];
    const message = `${line === undefined ? "" : `Segment ${line}: `}${what}.`;
    if (part === "metric" || part === "options") found.push({ metrics: message });
    if (part === "refs") found.push({ field: fields.references[0].field, message });
    if (part === "sources") found.push({ field: fields.sources, message });
    if (part === "systems") {
      const entry = fields.systems.find(({ name }) => rest.startsWith(`.${name.value.trim()}`));
      found.push({ field: (entry ?? fields.systems[0]).field, message });
    }
  }
  showMistakes(found, metrics);
  return found.length > 0;
}

// The field that a message of the library speaks of: system 'a', refs[2], sources.
function namedField(message, fields) {
  const system = /system '([^']*)'/.exec(message)?.[1];
  const entry = fields.systems.find(({ name }) => name.value.trim() === system);
  if (entry) return entry.field;
  if (/^hyps\b/.test(message)) return fields.systems[0].field;
  if (/^(refs|references)\b/.test(message)) return fields.references[0].field;
  return /^sources?\b/.test(message) ? fields.sources : null;
}
