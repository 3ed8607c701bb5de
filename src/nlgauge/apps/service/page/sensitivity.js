// Sensitivity of scores to preprocessing: a study, which runs as a job.

const PRESETS = [
  ["all", "all settings, one at a time"],
  ["stopwords", "stop words: kept or removed"],
  ["idf", "idf: as published, none, or from random texts"],
  ["subwords", "subwords: first, all, or average"],
  ["punctuation", "punctuation: kept or removed"],
  ["layers", "model layer"],
];

// study: the request without the varied settings; null if nothing can be studied.
function sensitivitySection(study) {
  const section = make("section", { id: "sensitivity", "aria-labelledby": "sensitivity-title" });
  section.append(
    make("h2", { id: "sensitivity-title", text: "Sensitivity" }),
    make("p", {
      text: "How much scores and rankings depend on preprocessing: the same texts are scored with other settings.",
    }),
  );
  if (!study) {
    const text = "A study needs the texts and a metric that uses a model, such as BERTScore.";
    section.append(make("p", { class: "note", text }));
    return section;
  }
  const preset = choice("Setting to vary", PRESETS, "all", () => {});
  const start = make("button", { type: "button", id: "study", text: "Run the study" });
  const cancel = make("button", { type: "button", id: "study-cancel", text: "Cancel the study", hidden: true });
  const parts = {
    start,
    cancel,
    progress: make("progress", { id: "study-progress", "aria-label": "Progress of the study", hidden: true }),
    status: make("p", { id: "study-status", role: "status" }),
    strip: make("div", { id: "strip" }),
  };
  start.addEventListener("click", () => runStudy({ ...study, preset: preset.select.value }, parts));
  section.append(make("div", { class: "controls" }, preset.field, start, cancel));
  section.append(parts.progress, parts.status, parts.strip);
  return section;
}

async function runStudy(body, { start, cancel, progress, status, strip }) {
  const running = (on) => {
    const focused = document.activeElement === cancel;
    start.disabled = on;
    cancel.disabled = true; // until there is a job to cancel
    cancel.hidden = progress.hidden = !on;
    if (focused) start.focus();
  };
  running(true);
  status.textContent = "";
  try {
    const { id } = await submitJob("sensitivity", body);
    cancel.onclick = () =>
      cancelJob(id).catch((error) => {
        status.textContent = inWords(error);
      });
    cancel.disabled = false;
    const end = await watchJob(id, (now) => {
      status.textContent = jobInWords(now);
    });
    if (end.state === "done") {
      const sensitivity = JSON.parse(await jobResult(id, "json"));
      strip.replaceChildren(...stripsOf(sensitivity));
      status.textContent = flipsInWords(sensitivity);
    } else {
      status.textContent = end.problem ? inWords(new Error(end.problem.detail)) : ENDS_IN_WORDS[end.state];
      if (end.state === "interrupted") status.textContent += " Start the study again.";
    }
  } catch (error) {
    status.textContent = inWords(error);
  }
  running(false);
}

// The number of changes in the ranking, with an example.
function flipsInWords({ rankings }) {
  if (Object.keys(rankings[0]?.systems ?? {}).length < 2) return "";
  const flips = rankings.flatMap(({ metric, sweep, flips: own }) => own.map((flip) => ({ ...flip, metric, sweep })));
  if (!flips.length) return "The ranking of the systems is the same under all settings.";
  const { ahead, behind, setting, sweep, metric } = flips[0];
  const example = `with ${SWEEPS[sweep] ?? sweep} “${setting}”, ${behind} ranks above ${ahead} (${titleInWords(metric)})`;
  const significant = flips.filter((flip) => flip.significant).length;
  const firm = significant ? `${significant} of them significant` : "none of them significant";
  return `The ranking changes with the settings (${counted(flips.length, "change")}, ${firm}): ${example}.`;
}
