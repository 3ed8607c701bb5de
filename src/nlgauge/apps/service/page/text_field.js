// A text box with one text per line: typed, pasted, opened or dropped.

// Longer texts are shown in part: browsers are slow with megabytes in a text box.
const MOST_SHOWN = 200_000;
const SHOWN_LINES = 100;

class TextField {
  // id: prefix of the ids of the parts. changed: called after every change. several: takes several files that were
  // opened or dropped here; null if only one is allowed.
  constructor({ id, label, note = "", rows = 5, changed, several = null }) {
    this.changed = changed;
    this.several = several;
    this.invalid = null; // the input that is marked as invalid
    this.file = null; // {name, text}: the exact content, which a text box would change
    this.box = make("textarea", { rows, spellcheck: "false", dir: "auto", autocomplete: "off" });
    this.input = make("input", { type: "file", class: "unseen", multiple: Boolean(several) });
    this.count = make("span", { class: "count" });
    this.error = make("p", { class: "field-error", role: "alert" });
    this.label = make("label", {});
    this.opener = make("label", { class: "button" }, several ? "Open files" : "Open a file", this.input);
    this.without = make("button", { type: "button", text: "Remove the file", hidden: true });
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

  // Called again when a field before this one is removed, because fields are numbered.
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
      this.input.value = ""; // otherwise the same file could not be opened again
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
    if (files.length > 1)
      this.complain(`Only one file can be opened here: ${files[0].name} was opened, the others were not.`);
  }

  // Read a file into the field; whether that worked.
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
    this.count.textContent = linesInWords(this.lines, this.file?.name, this.box.readOnly);
    this.changed();
  }

  // Show an error; `input` is the invalid part: the texts, or the name of their system.
  complain(message, input = this.box) {
    this.error.textContent = message;
    this.invalid?.removeAttribute("aria-invalid");
    this.invalid = message ? input : null;
    this.invalid?.setAttribute("aria-invalid", "true");
  }
}

// As in "1,200 lines from a.txt, the last one blank".
function linesInWords(lines, fileName, shortened) {
  if (!lines.length) return "";
  const blank = lines.length - 1 - lines.findLastIndex((line) => line.trim());
  const ending = blank ? `, the last ${blank === 1 ? "one" : blank} blank` : "";
  const source = fileName ? ` from ${fileName}` : "";
  const part = shortened ? `; the first ${SHOWN_LINES} are shown` : "";
  return `${counted(lines.length, "line")}${source}${ending}${part}`;
}

// Let files be dropped on an element. An inner element that accepts files takes precedence.
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
