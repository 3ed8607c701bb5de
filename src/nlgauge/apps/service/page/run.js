// Runs the form: checks it, sends it at once or as a job, and shows progress until the result arrives.

// Largest number of texts times metrics that is answered within seconds. More become a job, which has progress.
const AT_ONCE = 200;

class Runner {
  constructor({ fields, metrics, address }) {
    Object.assign(this, { fields, metrics, address });
    this.job = "";
    this.stop = null; // an AbortController while something runs
    byId("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    byId("cancel").addEventListener("click", () => this.cancel());
    byId("run-again").addEventListener("click", () => this.run());
  }

  async run() {
    if (this.stop) return;
    clearMistakes(this.fields, this.metrics);
    const mistakes = formMistakes(this.fields, this.metrics);
    if (mistakes.length) {
      showMistakes(mistakes, this.metrics);
      this.showStatus(`Please fix ${mistakes.length === 1 ? "1 problem" : `${mistakes.length} problems`} first.`);
      return;
    }
    if (showSize(this.fields)) {
      this.showStatus("");
      return;
    }
    const body = this.body();
    await this.whileRunning(async () => {
      const started = performance.now();
      const result = fitsAtOnce(body) ? await this.atOnce(body) : await this.asJob(body);
      if (result) this.show({ ...result, body, seconds: (performance.now() - started) / 1000 });
    });
  }

  // Show the result of the job in the address. The service has already deleted its texts.
  async resume(job) {
    await this.whileRunning(async () => {
      const result = await this.resultOf(job);
      if (result) this.show({ ...result, body: this.fields.empty ? null : this.sameBody(result.answer) });
    });
  }

  async atOnce(body) {
    this.showStatus("Scoring …");
    this.address.job = "";
    const text = await askText("v1/compare", { body, signal: this.stop.signal });
    return { text, answer: JSON.parse(text), job: "" };
  }

  async asJob(body) {
    this.showStatus("Sending the texts …");
    const { signal } = this.stop;
    // Not aborted: the service may have accepted the job already, and nobody would cancel it.
    const { id } = await submitJob("compare", body);
    if (signal.aborted) await cancelJob(id).catch(() => {});
    signal.throwIfAborted();
    return this.resultOf(id);
  }

  async resultOf(id) {
    this.job = this.address.job = id;
    this.address.soon();
    const status = await watchJob(id, (now) => this.progress(now), this.stop.signal);
    this.job = "";
    if (status.state === "done") {
      this.showStatus("Fetching the result …");
      const text = await jobResult(id, "json");
      return { text, answer: JSON.parse(text), job: id };
    }
    this.address.job = "";
    this.address.soon();
    if (status.state === "failed") throw new Problem(status.problem ?? {}, status.problem?.status ?? 500);
    this.showStatus(ENDS_IN_WORDS[status.state]);
    byId("run-again").hidden = status.state !== "interrupted" || this.fields.empty;
    return null;
  }

  // Do work with the buttons and the progress bar set accordingly, and show its error.
  async whileRunning(work) {
    if (this.stop) return;
    this.stop = new AbortController();
    hideResults();
    this.showRunning(true);
    try {
      await work();
    } catch (error) {
      this.fail(error);
    } finally {
      this.stop = null;
      this.job = "";
      this.showRunning(false);
    }
  }

  // Move the focus from a button that disappears to the one that replaces it.
  showRunning(running) {
    const [run, cancel, again] = ["run", "cancel", "run-again"].map(byId);
    const focused = [run, cancel, again, byId("example"), document.body].includes(document.activeElement);
    run.disabled = byId("example").disabled = running;
    cancel.hidden = byId("progress").hidden = !running;
    cancel.disabled = false;
    if (running) again.hidden = true;
    byId("progress").removeAttribute("value");
    if (focused) (running ? cancel : again.hidden ? run : again).focus({ preventScroll: true });
  }

  fail(error) {
    if (error.name === "AbortError") return this.showStatus("Cancelled.");
    this.showStatus("");
    if (error instanceof ConnectionLost) byId("run-again").hidden = false;
    if (error instanceof Problem && error.status === 401) askForKey(error.message);
    if (error instanceof Problem && error.status === 404) {
      this.address.job = ""; // it has expired
      this.address.soon();
    }
    showProblem(error, this.fields, this.metrics);
  }

  // A job is cancelled at the service, which reports its end; a request is aborted.
  async cancel() {
    byId("cancel").disabled = true;
    if (!this.job) {
      this.stop?.abort();
      return;
    }
    try {
      await cancelJob(this.job);
    } catch (error) {
      if (error instanceof ConnectionLost) this.stop?.abort();
      else if (error.kind !== "ended") byId("form-error").textContent = inWords(error);
    }
  }

  progress(status) {
    this.showStatus(jobInWords(status));
    const bar = byId("progress");
    const total = status?.progress.total;
    if (status?.state === "running" && total) {
      bar.max = total;
      bar.value = status.progress.done;
    } else {
      bar.removeAttribute("value");
    }
  }

  show(result) {
    // If the form was changed meanwhile, the link must not combine it with the job of the former texts.
    const sent = result.body && JSON.stringify(result.body);
    if (!sent || sent === JSON.stringify(this.body())) this.address.job = result.job;
    this.address.soon();
    showResults(result, studyOf(result));
    this.showStatus(`Done: ${counted(result.answer.comparison.metrics[0].n, "segment")} scored.`);
    byId("results").scrollIntoView({ block: "start" });
    byId("results").focus({ preventScroll: true });
  }

  // The form as a request.
  body() {
    return { ...this.fields.body(), ...this.metrics.body() };
  }

  // The form as a request if it matches the result of a job; otherwise null.
  sameBody(answer) {
    const body = this.body();
    const [first] = answer.comparison.metrics;
    const fits = first.systems.every(({ system }) => body.systems[system]?.length === first.n);
    return fits && answer.comparison.metrics.length === body.metric.length ? body : null;
  }

  showStatus(text) {
    byId("status").textContent = text;
  }
}

// A request for a sensitivity study of the same texts, or null. Only metrics with a model can be studied.
function studyOf({ answer, body }) {
  if (!body || answer.comparison.metrics.length !== body.metric.length) return null;
  const { empty: _, ...texts } = body; // not an option of a study
  const signatures = answer.comparison.metrics.map(({ signature }) => signature);
  const metrics = body.metric.filter((recipe, i) => signatures[i].includes("|model:") && !recipe.includes("|"));
  return metrics.length ? { ...texts, metric: metrics } : null;
}

function fitsAtOnce(body) {
  const outputs = Object.values(body.systems).flat();
  const texts = outputs.length + (body.refs ?? []).flat().length + (body.sources ?? []).length;
  const most = Math.min(AT_ONCE, service.limits.texts);
  return texts * body.metric.length <= most && JSON.stringify(body).length * 2 < service.limits.body_bytes;
}
