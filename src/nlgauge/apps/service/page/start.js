// Entry point: loads what the service offers, then fills the form from the address.

// The description of the service.
const service = { limits: {}, metrics: [] };

async function start() {
  startTheme();
  showOverflow(byId("sections"));
  startLinks();
  startDropping();
  byId("key-form").addEventListener("submit", useKey);
  await load();
}

async function load() {
  const wait = byId("metrics-wait");
  for (;;) {
    try {
      const [description, metrics, models] = await Promise.all(
        ["v1", "v1/metrics", "v1/models"].map((path) => askJson(path)),
      );
      Object.assign(service, { limits: description.limits, metrics });
      await startForm(metrics, models);
      return;
    } catch (error) {
      if (error instanceof Problem && error.status === 401) {
        wait.textContent = "Enter an API key to load the metrics.";
        askForKey(apiKey.get() ? error.message : "");
        return;
      }
      wait.textContent = `${inWords(error)} Trying again.`;
      await pause(2000);
    }
  }
}

// Check what can be checked before scoring: the number of texts, and their language.
function checkTexts(fields, metrics) {
  showSize(fields);
  const outputs = [...fields.systems, ...fields.references];
  metrics.checkLanguage(outputs.map(({ field }) => field.text.slice(0, 2000)).join("\n"));
}

async function startForm(records, models) {
  let address = null;
  let waits = 0;
  const changed = () => {
    if (!address) return;
    clearTimeout(waits);
    waits = setTimeout(() => checkTexts(fields, metrics), 300); // not at every letter
    address.job = ""; // its result no longer belongs to the form
    address.soon();
  };
  const fields = new TextFields(changed);
  const metrics = new MetricChoice(records, models, changed);
  address = new Address(() => ({ form: { ...fields.state(), ...metrics.state() }, empty: fields.empty }));
  const runner = new Runner({ fields, metrics, address });
  const fill = (state) => {
    fields.restore(state);
    metrics.restore(state);
  };
  fill({});
  byId("example").addEventListener("click", () => {
    fill(EXAMPLE);
    runner.run();
  });
  byId("clear").addEventListener("click", () => {
    fill({});
    clearMistakes(fields, metrics);
    address.job = "";
    runner.showStatus("");
    hideResults();
    fields.systems[0].field.box.focus();
  });
  byId("copy-link").addEventListener("click", async () => {
    await address.write();
    copyText(location.href, byId("copy-link"));
  });
  const open = async () => {
    let opened;
    try {
      opened = await Address.opened();
    } catch {
      byId("form-error").textContent = "The link is damaged and cannot be read. Copy it again, completely.";
      return;
    }
    if (opened.form) fill(opened.form);
    if (opened.job) await runner.resume(opened.job);
  };
  addEventListener("hashchange", open);
  byId("run").disabled = byId("example").disabled = false;
  document.documentElement.dataset.ready = "yes";
  await open();
}

// Links within the page move the view and the focus but do not change the address, which contains the form.
function startLinks() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    const target = link && byId(link.getAttribute("href").slice(1));
    if (!target) return;
    event.preventDefault();
    target.scrollIntoView({ block: "start" });
    target.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
  });
}

// A file that is dropped beside the fields must not replace the page.
function startDropping() {
  for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
}

function askForKey(message) {
  byId("key-area").hidden = false;
  byId("key-error").textContent = message ? "This key is not valid for this service." : "";
  byId("key").focus();
}

async function useKey(event) {
  event.preventDefault();
  const key = byId("key").value.trim();
  // Other characters are neither allowed in a header nor in a key.
  if (!/^[!-~]+$/.test(key)) {
    askForKey("invalid characters");
    return;
  }
  apiKey.set(key);
  byId("key-area").hidden = true;
  if (document.documentElement.dataset.ready !== "yes") await load();
}

start();
