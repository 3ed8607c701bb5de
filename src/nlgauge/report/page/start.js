// Entry point: theme, buttons that copy, then the data and its views.

function alignmentsInWords(scores) {
  const count = scores.explanations.segments.size;
  if (count === 0) return "This report has no alignments.";
  const few = scores.explanations.perSegment < scores.systems.length;
  const systems = few ? ` (${counted(scores.explanations.perSegment, "system")} each)` : "";
  if (count === scores.count) return `Alignments of all segments${systems} are part of the report.`;
  const which = `for ${counted(count, "segment")}, those with the largest differences between systems${systems}`;
  return `The report has alignments ${which}: choose “with alignments” under Show.`;
}

async function start() {
  let scatter = null;
  startTheme(() => scatter?.draw());
  startCopying();
  document.querySelectorAll(".scroll, nav").forEach(showOverflow);
  if (!("DecompressionStream" in window)) return;
  const scores = unpackedScores(await unpack("page-data"));
  for (const name of ["scatter", "segments"]) {
    byId(`${name}-waits`).hidden = true;
    byId(`${name}-live`).hidden = false;
  }
  const list = startSegments(scores, byId("segments-live"));
  byId("explained-said").textContent = alignmentsInWords(scores);
  scatter = new Scatter(scores, (segment) => list.open(segment));
  document.documentElement.dataset.ready = "yes";
}

start();
