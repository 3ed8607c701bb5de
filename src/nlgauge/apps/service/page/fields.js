// All texts of the form: systems by name, references, sources.

class TextFields {
  constructor(changed) {
    this.changed = changed;
    this.systems = []; // {field, name, element, remove}
    this.references = []; // {field, element, remove}
    this.sources = new TextField({
      id: "sources",
      label: "Sources",
      rows: 3,
      note: "What was translated or summarised; only for metrics that compare with it.",
      changed,
    });
    byId("source-fields").append(this.sources.element);
    byId("add-system").addEventListener("click", () => this.addSystem().name.focus());
    byId("add-references").addEventListener("click", () => this.addReferences().field.box.focus());
    acceptFiles(byId("systems"), (files) => this.takeSystems(files));
    acceptFiles(byId("references"), (files) => this.takeReferences(files));
    this.addSystem();
    this.addReferences();
  }

  addSystem(name = this.unusedName(`system ${this.systems.length + 1}`)) {
    const several = (files) => this.takeSystems(files, entry);
    const field = new TextField({ id: "system", label: "", changed: this.changed, several });
    const input = make("input", { type: "text", maxlength: 200, spellcheck: "false", autocomplete: "off" });
    input.value = name;
    input.addEventListener("input", () => {
      input.dataset.typed = "yes";
      field.complain("");
      this.changed();
    });
    const label = make("label", {});
    const remove = make("button", { type: "button", text: "Remove" });
    const head = make("div", { class: "system-head" }, make("div", { class: "field" }, label, input), remove);
    const element = make("div", { class: "entry" }, head, field.element);
    const entry = { field, name: input, label, element, remove };
    remove.addEventListener("click", () => this.remove(this.systems, entry, "add-system"));
    this.systems.push(entry);
    byId("system-fields").append(element);
    this.number();
    return entry;
  }

  addReferences() {
    const several = (files) => this.takeReferences(files, entry);
    const field = new TextField({ id: "references", label: "", changed: this.changed, several });
    const remove = make("button", { type: "button", text: "Remove" });
    const element = make("div", { class: "entry" }, field.element);
    field.element.querySelector(".text-head").append(remove);
    const entry = { field, element, remove };
    remove.addEventListener("click", () => this.remove(this.references, entry, "add-references"));
    this.references.push(entry);
    byId("reference-fields").append(element);
    this.number();
    return entry;
  }

  remove(entries, entry, next) {
    entries.splice(entries.indexOf(entry), 1);
    entry.element.remove();
    this.number();
    byId(next).focus();
    this.changed();
  }

  number() {
    this.systems.forEach(({ field, name, label, remove }, at) => {
      field.name(`system-${at + 1}`, `Hypotheses of system ${at + 1}`);
      label.textContent = `Name of system ${at + 1}`;
      label.htmlFor = name.id = `system-${at + 1}-name`;
      name.setAttribute("aria-describedby", `system-${at + 1}-error`);
      remove.setAttribute("aria-label", `Remove system ${at + 1}`);
      remove.hidden = this.systems.length === 1;
    });
    this.references.forEach(({ field, remove }, at) => {
      field.name(`references-${at + 1}`, `References ${at + 1}`);
      remove.setAttribute("aria-label", `Remove references ${at + 1}`);
      remove.hidden = this.references.length === 1;
    });
  }

  // Several files become a system each, named after its file. The first one goes to the system that it was given to,
  // the others, and all that were given to none, to systems that have no text yet.
  async takeSystems(files, given = null) {
    for (const [at, file] of files.entries()) {
      const empty = this.systems.find(({ field }) => !field.text);
      const entry = (at === 0 && given) || empty || this.addSystem();
      if (!(await entry.field.take(file)) || entry.name.dataset.typed) continue; // a name that was typed stays
      entry.name.value = this.unusedName(systemName(file.name), entry);
    }
    this.changed();
  }

  async takeReferences(files, given = null) {
    for (const [at, file] of files.entries()) {
      const empty = this.references.find(({ field }) => !field.text);
      await ((at === 0 && given) || empty || this.addReferences()).field.take(file);
    }
  }

  // Texts of a request, as the service counts them.
  get count() {
    return this.all.reduce((sum, field) => sum + field.lineCount, 0);
  }

  unusedName(name, entry) {
    const used = this.systems.filter((other) => other !== entry).map((other) => other.name.value);
    let found = name;
    for (let at = 2; used.includes(found); at += 1) found = `${name} ${at}`;
    return found;
  }

  // As the address keeps them; restored by `restore`.
  state() {
    return {
      systems: this.systems.map(({ field, name }) => [name.value, field.text]),
      references: this.references.map(({ field }) => field.text),
      sources: this.sources.text,
    };
  }

  restore({ systems = [], references = [], sources = "" }) {
    for (const { element } of [...this.systems, ...this.references]) element.remove();
    this.systems = [];
    this.references = [];
    for (const [name, text] of systems.length ? systems : [["system 1", ""]]) this.addSystem(name).field.set(text);
    for (const text of references.length ? references : [""]) this.addReferences().field.set(text);
    this.sources.set(sources);
  }

  get all() {
    return [...this.systems.map(({ field }) => field), ...this.references.map(({ field }) => field), this.sources];
  }

  get empty() {
    return this.all.every((field) => !field.text);
  }

  // The texts as requests have them. Several references of a segment become a list.
  body() {
    const systems = Object.fromEntries(this.systems.map(({ field, name }) => [name.value.trim(), field.lines]));
    const streams = this.references.map(({ field }) => field.lines).filter((lines) => lines.length);
    const body = { systems };
    if (streams.length === 1) [body.refs] = streams;
    else if (streams.length) body.refs = streams[0].map((_, at) => streams.map((lines) => lines[at]));
    if (this.sources.lines.length) body.sources = this.sources.lines;
    return body;
  }
}
