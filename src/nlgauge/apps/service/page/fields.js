// The texts of the form: systems by name, references, sources.

class TextFields {
  constructor(changed) {
    this.changed = changed;
    this.systems = []; // {field, name, element, remove}
    this.references = []; // {field, element, remove}
    this.sources = new TextField({
      id: "sources",
      label: "Sources",
      rows: 3,
      note: "Original texts, line by line. Only for metrics that compare with the source.",
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
    this.systems.forEach(({ field, name, label, remove }, i) => {
      const number = i + 1;
      field.name(`system-${number}`, `Outputs of system ${number}`);
      label.textContent = `Name of system ${number}`;
      label.htmlFor = `system-${number}-name`;
      name.id = label.htmlFor;
      name.setAttribute("aria-describedby", `system-${number}-error`);
      remove.setAttribute("aria-label", `Remove system ${number}`);
      remove.hidden = this.systems.length === 1;
    });
    this.references.forEach(({ field, remove }, i) => {
      field.name(`references-${i + 1}`, `References ${i + 1}`);
      remove.setAttribute("aria-label", `Remove references ${i + 1}`);
      remove.hidden = this.references.length === 1;
    });
  }

  // Make a system of each file, named after the file. The first file goes to the target, if there is one; the others
  // fill systems without text, then new ones.
  async takeSystems(files, target = null) {
    for (const [i, file] of files.entries()) {
      const empty = this.systems.find(({ field }) => !field.text);
      const entry = (i === 0 && target) || empty || this.addSystem();
      if (!(await entry.field.take(file)) || entry.name.dataset.typed) continue; // keep a name that was typed
      entry.name.value = this.unusedName(systemName(file.name), entry);
    }
    this.changed();
  }

  async takeReferences(files, target = null) {
    for (const [i, file] of files.entries()) {
      const empty = this.references.find(({ field }) => !field.text);
      await ((i === 0 && target) || empty || this.addReferences()).field.take(file);
    }
  }

  // Lines of all fields, without trailing blank lines.
  get lines() {
    const aligned = alignedLines(this.all.map((field) => field.lines));
    return new Map(this.all.map((field, i) => [field, aligned[i]]));
  }

  // Number of texts in a request, as the service counts them.
  get count() {
    return [...this.lines.values()].reduce((sum, lines) => sum + lines.length, 0);
  }

  unusedName(name, entry) {
    const used = this.systems.filter((other) => other !== entry).map((other) => other.name.value);
    let unused = name;
    for (let number = 2; used.includes(unused); number += 1) unused = `${name} ${number}`;
    return unused;
  }

  // The texts as the address stores them.
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
    const { lines } = this;
    const systems = Object.fromEntries(this.systems.map(({ field, name }) => [name.value.trim(), lines.get(field)]));
    const streams = this.references.map(({ field }) => lines.get(field)).filter((texts) => texts.length);
    const body = { systems };
    if (streams.length === 1) [body.refs] = streams;
    else if (streams.length) body.refs = streams[0].map((_, i) => streams.map((texts) => texts[i]));
    if (lines.get(this.sources).length) body.sources = lines.get(this.sources);
    return body;
  }
}
