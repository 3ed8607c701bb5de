// The page comes to life: theme, buttons that copy, then the data and what shows it.

function whatIsExplained(scores) {
  const count = scores.explanations.segments.size;
  if (count === 0) return "This page holds no alignments.";
  const few = scores.explanations.perSegment < scores.systems.length;
  const who = few ? ` (${counted(scores.explanations.perSegment, "system")} each)` : "";
  if (count === scores.count) return `Alignments of all segments${who} are part of the page.`;
  const which = `for ${counted(count, "segment")}, those on which systems differ most${who}`;
  return `Alignments are part of the page ${which}: choose “with alignments” under Show.`;
}

async function start() {
  let scatter = null;
  startTheme(() => scatter?.draw());
  startCopying();
  document.querySelectorAll(".scroll").forEach(showOverflow);
  if (!("DecompressionStream" in window)) return;
  const scores = unpackedScores(await unpack("page-data"));
  for (const name of ["scatter", "segments"]) {
    byId(`${name}-waits`).hidden = true;
    byId(`${name}-live`).hidden = false;
  }
  const list = startSegments(scores, byId("segments-live"));
  byId("explained-said").textContent = whatIsExplained(scores);
  scatter = new Scatter(scores, (segment) => list.open(segment));
  document.documentElement.dataset.ready = "yes";
}

start();
