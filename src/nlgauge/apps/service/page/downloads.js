// The result as files: what came back, tables of it, and the report as one HTML file.

const DOWNLOADS = [
  { label: "JSON", name: "nlgauge.json", type: "application/json", make: ({ text }) => text },
  { label: "TSV", name: "nlgauge.tsv", type: "text/tab-separated-values", make: (result) => tableOf(result, "tsv") },
  {
    label: "segments as TSV",
    name: "nlgauge-segments.tsv",
    type: "text/tab-separated-values",
    make: (result) => tableOf(result, "segments"),
  },
  { label: "report", name: "nlgauge-report.html", type: "text/html", make: (result) => reportOf(result) },
];

// Small requests are no jobs and leave nothing behind, so their tables are made again.
function tableOf({ body, job }, format) {
  return job ? jobResult(job, format) : askText(`v1/compare?format=${format}`, { body });
}

async function reportOf(result) {
  if (!result.job && !result.reportJob) {
    const { id } = await submitJob("compare", result.body);
    const { state, problem } = await watchJob(id, () => {});
    if (state !== "done") throw new Error(problem?.detail ?? `The job that makes the report is ${state}.`);
    result.reportJob = id;
  }
  return jobResult(result.job || result.reportJob, "html");
}

function downloadButtons(result) {
  const said = make("p", { class: "note", role: "status" });
  const place = make("div", { id: "downloads", class: "buttons" });
  for (const download of DOWNLOADS) {
    const button = make("button", { type: "button", text: `Download ${download.label}` });
    button.disabled = !result.body && !result.job;
    button.addEventListener("click", async () => {
      button.disabled = true;
      said.textContent = `Preparing ${download.name} …`;
      try {
        saveAs(await download.make(result), download);
        said.textContent = `${download.name} is ready.`;
      } catch (error) {
        said.textContent = inWords(error);
      }
      button.disabled = false;
    });
    place.append(button);
  }
  return make("div", {}, place, said);
}

function saveAs(text, { name, type }) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
