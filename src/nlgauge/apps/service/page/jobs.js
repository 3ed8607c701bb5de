// Jobs: submitted, watched until they end, cancelled. Watching survives a service that goes away and comes back.

const ENDED = ["done", "failed", "cancelled", "interrupted"];
const LONGEST_PAUSE = 5000;
// A stream that is silent for so long may be held up on its way: the job is asked for itself.
const LONGEST_SILENCE = 10_000;

const submitJob = (kind, body) => askJson(`v1/jobs/${kind}`, { body });
const cancelJob = (id) => askJson(`v1/jobs/${id}/cancel`, { method: "POST" });
const jobResult = (id, format) => askText(`v1/jobs/${id}/result?format=${format}`);

// The status in which a job ends. `told` hears of every status before, and null where the service does not answer.
async function watchJob(id, told, signal) {
  let wait = 250;
  for (;;) {
    try {
      for await (const status of jobEvents(id, signal)) {
        wait = 250;
        if (ENDED.includes(status.state)) return status;
        told(status);
      }
      // The stream ended before the job: it was silent, or the service is about to stop.
      const status = await askJson(`v1/jobs/${id}`, { signal });
      if (ENDED.includes(status.state)) return status;
      told(status);
    } catch (error) {
      if (!(error instanceof ConnectionLost) && !(error instanceof Problem && [429, 503].includes(error.status)))
        throw error;
      if (error instanceof ConnectionLost) told(null);
    }
    await pause(wait);
    signal?.throwIfAborted();
    wait = Math.min(2 * wait, LONGEST_PAUSE);
  }
}

// Server-sent events, read by fetch: EventSource has no way to send a key.
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

// What a status says, in words.
function jobInWords(status) {
  if (status === null) return "The connection to the service was lost; trying again.";
  if (status.state === "queued") return "Waiting in the queue.";
  const { done, total, unit } = status.progress;
  if (total !== null && done === total)
    return `Scored all ${counted(total, unit.replace(/s$/, ""))}; comparing the systems.`;
  if (total !== null) return `Scored ${done.toLocaleString("en")} of ${counted(total, unit.replace(/s$/, ""))}.`;
  return unit === "tokens" ? `Encoded ${counted(done, "token")}.` : "Running.";
}

const ENDS_IN_WORDS = {
  cancelled: "Cancelled.",
  interrupted: "The service was stopped in the middle of the job.",
};
