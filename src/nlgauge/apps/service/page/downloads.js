// Downloads of the result: JSON, tables, and the report as one HTML file.

const DOWNLOADS = [
  { label: "JSON", name: "nlgauge.json", type: "application/json", make: ({ text }) => text },
  {
    label: "TSV",
    name: "nlgauge.tsv",
    type: "text/tab-separated-values",
    make: (result) => tableOf(result, "tsv"),
  },
  {
    label: "CSV",
    name: "nlgauge.csv",
    type: "text/csv",
    make: async (result) => csvOf(await tableOf(result, "tsv")),
  },
  {
    label: "segments as TSV",
    name: "nlgauge-segments.tsv",
    type: "text/tab-separated-values",
    make: (result) => tableOf(result, "segments"),
  },
  {
    label: "segments as CSV",
    name: "nlgauge-segments.csv",
    type: "text/csv",
    make: async (result) => csvOf(await tableOf(result, "segments")),
  },
  { label: "report", name: "nlgauge-report.html", type: "text/html", make: (result) => reportOf(result) },
];

// A table with tabs, whose cells contain none, with commas and quotes as in RFC 4180.
function csvOf(table) {
  const quoted = (cell) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const lines = table.replace(/\n$/, "").split("\n");
  return lines.map((line) => `${line.split("\t").map(quoted).join(",")}\r\n`).join("");
}

// Small requests are not jobs, so their tables are computed again.
function tableOf({ body, job }, format) {
  return job ? jobResult(job, format) : askText(`v1/compare?format=${format}`, { body });
}

async function reportOf(result) {
  if (!result.job && !result.reportJob) {
    const { id } = await submitJob("compare", result.body);
    const { state, problem } = await watchJob(id, () => {});
    if (state !== "done") throw new Error(problem?.detail ?? `The job for the report is ${state}.`);
    result.reportJob = id;
  }
  return jobResult(result.job || result.reportJob, "html");
}

function downloadButtons(result) {
  const status = make("p", { class: "note", role: "status" });
  const place = make("div", { id: "downloads", class: "buttons" });
  for (const download of DOWNLOADS) {
    const button = make("button", { type: "button", text: `Download ${download.label}` });
    button.disabled = !result.body && !result.job;
    button.addEventListener("click", async () => {
      button.disabled = true;
      status.textContent = `Preparing ${download.name} …`;
      try {
        saveAs(await download.make(result), download);
        status.textContent = `${download.name} is ready.`;
      } catch (error) {
        status.textContent = inWords(error);
      }
      button.disabled = false;
    });
    place.append(button);
  }
  return make("div", {}, place, status);
}

function saveAs(text, { name, type }) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
