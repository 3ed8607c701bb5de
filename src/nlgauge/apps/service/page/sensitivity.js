// How far preprocessing moves scores: a study, which is a job of its own.

const PRESETS = [
  ["all", "everything, one thing at a time"],
  ["stopwords", "stop words: kept, or a list of them left out"],
  ["idf", "idf: as published, none, of random texts"],
  ["subwords", "subwords: first, all, average"],
  ["punctuation", "punctuation: left out or kept"],
  ["layers", "the layer of the model"],
];

// study: the request without what is varied; null where there is nothing to study.
function sensitivitySection(study) {
  const section = make("section", { id: "sensitivity", "aria-labelledby": "sensitivity-title" });
  section.append(
    make("h2", { id: "sensitivity-title", text: "Sensitivity" }),
    make("p", { text: "The same texts under other preprocessing: how far scores move, and who changes places." }),
  );
  if (!study) {
    const text = "A study needs the texts, and a metric that compares vectors of a model.";
    section.append(make("p", { class: "note", text }));
    return section;
  }
  const preset = choice("What is varied", PRESETS, "all", () => {});
  const start = make("button", { type: "button", id: "study", text: "Study preprocessing" });
  const cancel = make("button", { type: "button", id: "study-cancel", text: "Cancel the study", hidden: true });
  const parts = {
    start,
    cancel,
    progress: make("progress", { id: "study-progress", "aria-label": "Progress of the study", hidden: true }),
    said: make("p", { id: "study-status", role: "status" }),
    strip: make("div", { id: "strip" }),
  };
  start.addEventListener("click", () => runStudy({ ...study, preset: preset.select.value }, parts));
  section.append(make("div", { class: "controls" }, preset.field, start, cancel));
  section.append(parts.progress, parts.said, parts.strip);
  return section;
}

async function runStudy(body, { start, cancel, progress, said, strip }) {
  const running = (on) => {
    const focused = document.activeElement === cancel;
    start.disabled = on;
    cancel.disabled = true; // until there is a job to cancel
    cancel.hidden = progress.hidden = !on;
    if (focused) start.focus();
  };
  running(true);
  said.textContent = "";
  try {
    const { id } = await submitJob("sensitivity", body);
    cancel.onclick = () => cancelJob(id).catch((error) => (said.textContent = inWords(error)));
    cancel.disabled = false;
    const status = await watchJob(id, (now) => (said.textContent = jobInWords(now)));
    if (status.state === "done") {
      const sensitivity = JSON.parse(await jobResult(id, "json"));
      strip.replaceChildren(...stripsOf(sensitivity));
      said.textContent = flipsInWords(sensitivity);
    } else {
      said.textContent = status.problem ? inWords(new Error(status.problem.detail)) : ENDS_IN_WORDS[status.state];
      if (status.state === "interrupted") said.textContent += " Start the study again.";
    }
  } catch (error) {
    said.textContent = inWords(error);
  }
  running(false);
}

// Whether systems change places: counted, and the first of them named.
function flipsInWords({ rankings }) {
  if (Object.keys(rankings[0]?.systems ?? {}).length < 2) return "";
  const flips = rankings.flatMap(({ metric, sweep, flips: found }) =>
    found.map((flip) => ({ ...flip, metric, sweep })),
  );
  if (!flips.length) return "No two systems change places.";
  const { ahead, behind, setting, sweep, metric } = flips[0];
  const example = `with ${SWEEPS[sweep] ?? sweep} “${setting}”, ${behind} comes before ${ahead} by ${metric}`;
  const significant = flips.filter((flip) => flip.significant).length;
  const firm = significant ? `${significant} of them significant` : "none of them significant";
  return `Systems change places under other settings (${counted(flips.length, "change")}, ${firm}): ${example}.`;
}
