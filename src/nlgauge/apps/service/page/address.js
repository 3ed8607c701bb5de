// The form in the address after the #, a part that browsers do not send: texts never reach a log.

const LONGEST_ADDRESS = 8000;
const MOST_ENTRIES = 100;

// Deflated JSON in characters that are allowed in an address.
async function packedState(state) {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

async function unpackedState(packed) {
  if (packed.length > 2 * LONGEST_ADDRESS) throw new Error("longer than any that this page writes");
  const letters = atob(packed.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return checkedState(JSON.parse(await new Response(stream).text()));
}

// An address may come from anybody, so its content is checked.
function checkedState(state) {
  const isText = (value) => typeof value === "string";
  const isPair = (value) => Array.isArray(value) && value.length === 2 && value.every(isText);
  const isList = (value, isMember) => Array.isArray(value) && value.length <= MOST_ENTRIES && value.every(isMember);
  const { systems, references, sources, metrics, model, recipes, empty } = state;
  const good =
    isList(systems, isPair) &&
    isList(metrics, isPair) &&
    isList(references, isText) &&
    [sources, model, recipes].every(isText) &&
    typeof empty === "boolean";
  if (!good) throw new Error("not of the form that this page writes");
  return state;
}

class Address {
  constructor(read) {
    this.read = read; // returns the state of the form
    this.job = ""; // a job whose result is on the page, or will be
    this.waits = 0;
    this.turn = 0;
  }

  // The content of the opened address: {form, job}; throws if it is damaged.
  static async opened() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const packed = parts.get("form");
    const job = parts.get("job") ?? "";
    const form = packed ? await unpackedState(packed) : null;
    return { form, job: /^([a-z0-9]{1,16}-)?[0-9a-f]{32}$/.test(job) ? job : "" };
  }

  // Write the address a moment after a change, not at every letter.
  soon() {
    clearTimeout(this.waits);
    this.waits = setTimeout(() => this.write(), 300);
  }

  async write() {
    clearTimeout(this.waits);
    this.turn += 1;
    const { turn } = this;
    const state = this.read();
    const note = byId("address-note");
    let packed = state.empty ? "" : await packedState(state.form);
    let shortened = false;
    if (packed.length > LONGEST_ADDRESS) {
      shortened = true;
      const { systems, ...rest } = state.form;
      packed = await packedState({
        ...rest,
        systems: systems.map(([name]) => [name, ""]),
        references: [],
        sources: "",
      });
    }
    if (turn !== this.turn) return; // changed again meanwhile
    note.textContent = shortened
      ? "The texts are too long for a link. It contains names, metrics, options and the job, but not the texts."
      : "";
    const parts = [packed && `form=${packed}`, this.job && `job=${this.job}`].filter(Boolean);
    history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
  }
}
