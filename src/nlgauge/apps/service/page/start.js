// The page comes to life: what the service offers, then the form, as the address has it.

// What the service says about itself.
const service = { limits: {}, metrics: [] };

async function start() {
  startTheme();
  startLinks();
  startDropping();
  byId("key-form").addEventListener("submit", useKey);
  await load();
}

async function load() {
  const wait = byId("metrics-wait");
  for (;;) {
    try {
      const [about, metrics, models] = await Promise.all(
        ["v1", "v1/metrics", "v1/models"].map((path) => askJson(path)),
      );
      Object.assign(service, { limits: about.limits, metrics });
      await startForm(metrics, models);
      return;
    } catch (error) {
      if (error instanceof Problem && error.status === 401) {
        wait.textContent = "The service asks for a key before it says what it offers.";
        askForKey(apiKey.get() ? error.message : "");
        return;
      }
      wait.textContent = `${inWords(error)} Trying again.`;
      await pause(2000);
    }
  }
}

async function startForm(records, models) {
  let address = null;
  let waits = 0;
  const changed = () => {
    if (!address) return;
    clearTimeout(waits);
    waits = setTimeout(() => showSize(fields), 300); // not at every letter
    address.job = ""; // its result is no longer that of the form
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
    runner.say("");
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
      byId("form-error").textContent = "The address is damaged: what it holds cannot be read.";
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

// Links within the page move the view and the focus, and leave the address alone: the form is in it.
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

// A file that misses the fields is not opened by the browser, in the place of this page.
function startDropping() {
  for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
}

function askForKey(message) {
  byId("key-area").hidden = false;
  byId("key-error").textContent = message ? "The service does not know this key." : "";
  byId("key").focus();
}

async function useKey(event) {
  event.preventDefault();
  const key = byId("key").value.trim();
  // A header cannot hold others, and no key of a service has them.
  if (!/^[!-~]+$/.test(key)) {
    askForKey("letters that no key has");
    return;
  }
  apiKey.set(key);
  byId("key-area").hidden = true;
  if (document.documentElement.dataset.ready !== "yes") await load();
}

start();
