// From the form to a result: checked, sent at once or as a job, with progress, until it is there or cancelled.

// Up to so many texts times metrics an answer comes within seconds; more become a job that says how far it is.
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
      this.say(`${counted(mistakes.length, "thing")} to mend before anything can be scored.`);
      return;
    }
    if (showSize(this.fields)) {
      this.say("");
      return;
    }
    const body = this.body();
    await this.watched(async () => {
      const started = performance.now();
      const result = fitsAtOnce(body) ? await this.atOnce(body) : await this.asJob(body);
      if (result) this.show({ ...result, body, seconds: (performance.now() - started) / 1000 });
    });
  }

  // A job that the address names: its result, without the texts, which the service has forgotten.
  async resume(job) {
    await this.watched(async () => {
      const result = await this.resultOf(job);
      if (result) this.show({ ...result, body: this.fields.empty ? null : this.sameBody(result.answer) });
    });
  }

  async atOnce(body) {
    this.say("Scoring …");
    this.address.job = "";
    const text = await askText("v1/compare", { body, signal: this.stop.signal });
    return { text, answer: JSON.parse(text), job: "" };
  }

  async asJob(body) {
    this.say("Sending the texts …");
    const { signal } = this.stop;
    // Not let go half-way: the service may have taken the job already, and would work for nobody.
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
      this.say("Fetching the result …");
      const text = await jobResult(id, "json");
      return { text, answer: JSON.parse(text), job: id };
    }
    this.address.job = "";
    this.address.soon();
    if (status.state === "failed") throw new Problem(status.problem ?? {}, status.problem?.status ?? 500);
    this.say(ENDS_IN_WORDS[status.state]);
    byId("run-again").hidden = status.state !== "interrupted" || this.fields.empty;
    return null;
  }

  // Runs something with the buttons and the bar as they should be meanwhile; what goes wrong is said.
  async watched(work) {
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

  // A button that goes takes the focus along: it is handed on to the one that comes.
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
    if (error.name === "AbortError") return this.say("Cancelled.");
    this.say("");
    if (error instanceof ConnectionLost) byId("run-again").hidden = false;
    if (error instanceof Problem && error.status === 401) askForKey(error.message);
    if (error instanceof Problem && error.status === 404) {
      this.address.job = ""; // it has expired
      this.address.soon();
    }
    showProblem(error, this.fields, this.metrics);
  }

  // A job is told to stop, and says so when it has; a request that is under way is let go.
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
    this.say(jobInWords(status));
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
    // A form that was changed meanwhile is not what the job was about: a link holds one or the other.
    const asked = result.body && JSON.stringify(result.body);
    if (!asked || asked === JSON.stringify(this.body())) this.address.job = result.job;
    this.address.soon();
    showResults(result, studyOf(result));
    this.say(`Done: ${counted(result.answer.comparison.metrics[0].n, "segment")} scored.`);
    byId("results").scrollIntoView({ block: "start" });
    byId("results").focus({ preventScroll: true });
  }

  // The request that the form stands for.
  body() {
    return { ...this.fields.body(), ...this.metrics.body() };
  }

  // The texts of the form, where they are those that a job was about; otherwise null.
  sameBody(answer) {
    const body = this.body();
    const [first] = answer.comparison.metrics;
    const fits = first.systems.every(({ system }) => body.systems[system]?.length === first.n);
    return fits && answer.comparison.metrics.length === body.metric.length ? body : null;
  }

  say(text) {
    byId("status").textContent = text;
  }
}

// A request for a study of the same texts, or null: it varies how vectors are compared, so metrics need a model.
function studyOf({ answer, body }) {
  if (!body || answer.comparison.metrics.length !== body.metric.length) return null;
  const { empty, ...texts } = body; // a study has no such choice
  const signatures = answer.comparison.metrics.map(({ signature }) => signature);
  const metrics = body.metric.filter((recipe, at) => signatures[at].includes("|model:") && !recipe.includes("|"));
  return metrics.length ? { ...texts, metric: metrics } : null;
}

function fitsAtOnce(body) {
  const outputs = Object.values(body.systems).flat();
  const texts = outputs.length + (body.refs ?? []).flat().length + (body.sources ?? []).length;
  const most = Math.min(AT_ONCE, service.limits.texts);
  return texts * body.metric.length <= most && JSON.stringify(body).length * 2 < service.limits.body_bytes;
}
