// Jobs: submit, watch, cancel. Watching continues after the service was restarted.

const ENDED = ["done", "failed", "cancelled", "interrupted"];
const LONGEST_PAUSE = 5000;
// Silence after which a stream may be blocked on its way; the status is requested instead.
const LONGEST_SILENCE = 10_000;

const submitJob = (kind, body) => askJson(`v1/jobs/${kind}`, { body });
const cancelJob = (id) => askJson(`v1/jobs/${id}/cancel`, { method: "POST" });
const jobResult = (id, format) => askText(`v1/jobs/${id}/result?format=${format}`);

// Wait for a job and return its last status. `report` receives each status before, and null if there is no answer.
async function watchJob(id, report, signal) {
  let wait = 250;
  for (;;) {
    try {
      for await (const status of jobEvents(id, signal)) {
        wait = 250;
        if (ENDED.includes(status.state)) return status;
        report(status);
      }
      // The stream ended before the job: it was silent, or the service is stopping.
      const status = await askJson(`v1/jobs/${id}`, { signal });
      if (ENDED.includes(status.state)) return status;
      report(status);
    } catch (error) {
      if (!(error instanceof ConnectionLost) && !(error instanceof Problem && [429, 503].includes(error.status)))
        throw error;
      if (error instanceof ConnectionLost) report(null);
    }
    await pause(wait);
    signal?.throwIfAborted();
    wait = Math.min(2 * wait, LONGEST_PAUSE);
  }
}

// Server-sent events, read by fetch because EventSource cannot send a key.
async function* jobEvents(id, signal) {
  const answer = await ask(`v1/jobs/${id}/events`, { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    let part;
    try {
      part = await Promise.race([reader.read(), pause(LONGEST_SILENCE).then(() => null)]);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ConnectionLost("The connection to the service was lost.");
    }
    if (part === null) reader.cancel().catch(() => {});
    if (part === null || part.done) return;
    text += part.value.replace(/\r/g, "");
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:"));
      if (data.length) yield JSON.parse(data.map((line) => line.slice(5)).join("\n"));
    }
  }
}

// A status as a sentence.
function jobInWords(status) {
  if (status === null) return "The connection to the service was lost. Trying again.";
  if (status.state === "queued") return "Waiting in the queue.";
  const { done, total, unit } = status.progress;
  if (total !== null && done === total)
    return `Scored all ${counted(total, unit.replace(/s$/, ""))}; comparing the systems.`;
  if (total !== null) return `Scored ${done.toLocaleString("en")} of ${counted(total, unit.replace(/s$/, ""))}.`;
  return unit === "tokens" ? `Encoded ${counted(done, "token")}.` : "Running.";
}

const ENDS_IN_WORDS = {
  cancelled: "Cancelled.",
  interrupted: "The service was stopped before the job was finished.",
};
