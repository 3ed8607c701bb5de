// A field of texts, a line each: typed, pasted, opened or dropped.

// Longer texts are shown in part: a box of text with megabytes in it makes a browser crawl.
const MOST_SHOWN = 200_000;
const SHOWN_LINES = 100;

class TextField {
  // id begins the ids of its parts; changed is called after every change; several takes the files that were opened or
  // dropped here where the form has room for more than one.
  constructor({ id, label, note = "", rows = 5, changed, several = null }) {
    this.changed = changed;
    this.several = several;
    this.lineCount = 0;
    this.wrong = null; // the part that something is wrong with
    this.file = null; // {name, text}: exactly as it was read, which a box of text does not keep
    this.box = make("textarea", { rows, spellcheck: "false", dir: "auto", autocomplete: "off" });
    this.input = make("input", { type: "file", class: "unseen", multiple: Boolean(several) });
    this.count = make("span", { class: "count" });
    this.error = make("p", { class: "field-error", role: "alert" });
    this.label = make("label", {});
    this.opener = make("label", { class: "button" }, several ? "Open files" : "Open a file", this.input);
    this.without = make("button", { type: "button", text: "Leave the file out", hidden: true });
    this.element = make(
      "div",
      { class: "text-field" },
      make("div", { class: "text-head" }, this.label, this.count, this.without, this.opener),
      this.box,
      this.error,
      note ? make("p", { class: "note", text: note }) : null,
    );
    this.name(id, label);
    this.listen();
    this.say();
  }

  // Fields are numbered, and numbers change where one goes.
  name(id, label) {
    this.label.textContent = label;
    this.label.htmlFor = this.box.id = `${id}-text`;
    this.input.id = `${id}-file`;
    this.input.setAttribute("aria-label", `${this.several ? "Open files" : "Open a file"}: ${label}`);
    this.count.id = `${id}-count`;
    this.error.id = `${id}-error`;
    this.box.setAttribute("aria-describedby", `${id}-count ${id}-error`);
  }

  listen() {
    this.box.addEventListener("input", () => {
      this.file = null;
      this.say();
    });
    this.input.addEventListener("change", async () => {
      if (this.input.files.length) await this.takeAll([...this.input.files]);
      this.input.value = ""; // so that the same file can be opened again
    });
    this.without.addEventListener("click", () => {
      this.set("");
      this.box.focus();
    });
    acceptFiles(this.element, (files) => this.takeAll(files));
  }

  async takeAll(files) {
    if (this.several) return this.several(files);
    await this.take(files[0]);
    if (files.length > 1) this.complain(`Only one file has a place here: ${files[0].name} was opened.`);
  }

  // Whether the file could be read.
  async take(file) {
    try {
      this.set(await readTextFile(file), file.name);
      return true;
    } catch (error) {
      this.complain(error.message);
      return false;
    }
  }

  set(text, fileName = "") {
    this.file = fileName ? { name: fileName, text } : null;
    const long = fileName && text.length > MOST_SHOWN;
    this.box.value = long ? `${splitLines(text).slice(0, SHOWN_LINES).join("\n").slice(0, MOST_SHOWN)}\n…` : text;
    this.box.readOnly = Boolean(long);
    this.without.hidden = !long;
    this.say();
  }

  get text() {
    return this.file ? this.file.text : this.box.value;
  }

  get lines() {
    return splitLines(this.text);
  }

  say() {
    this.complain("");
    const count = (this.lineCount = this.lines.length);
    const from = this.file ? ` from ${this.file.name}` : "";
    const part = this.box.readOnly ? `; the first ${SHOWN_LINES} are shown` : "";
    this.count.textContent = count ? `${counted(count, "line")}${from}${part}` : "";
    this.changed();
  }

  // What is wrong here; `input` is the part that it is about: the texts, or the name of their system.
  complain(message, input = this.box) {
    this.error.textContent = message;
    this.wrong?.removeAttribute("aria-invalid");
    this.wrong = message ? input : null;
    this.wrong?.setAttribute("aria-invalid", "true");
  }
}

// Files may be dropped on an element; one inside it that takes them too comes first.
function acceptFiles(element, take) {
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  element.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    element.classList.add("dropping");
  });
  for (const end of ["dragleave", "drop"]) element.addEventListener(end, () => element.classList.remove("dropping"));
  element.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    const files = [...event.dataTransfer.files];
    if (files.length) take(files);
  });
}
