// The form in the address, after its #: browsers do not send that part, so texts reach no log.

const LONGEST_ADDRESS = 8000;
const MOST_ENTRIES = 100;

// Deflated JSON in letters that an address may have.
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

// An address may come from anybody: what it holds is of the form that `state` gives, or it is refused.
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
    this.read = read; // the state of the form as it is now
    this.job = ""; // a job whose result is on the page, or will be
    this.waits = 0;
    this.turn = 0;
  }

  // What an address that was opened says: {form, job}; throws where it is damaged.
  static async opened() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const packed = parts.get("form");
    const job = parts.get("job") ?? "";
    const form = packed ? await unpackedState(packed) : null;
    return { form, job: /^([a-z0-9]{1,16}-)?[0-9a-f]{32}$/.test(job) ? job : "" };
  }

  // After a change; not at every letter.
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
    let left = false;
    if (packed.length > LONGEST_ADDRESS) {
      left = true;
      const { systems, ...rest } = state.form;
      packed = await packedState({
        ...rest,
        systems: systems.map(([name]) => [name, ""]),
        references: [],
        sources: "",
      });
    }
    if (turn !== this.turn) return; // changed again meanwhile
    note.textContent = left
      ? "The texts are too long for the address: a link holds names, metrics, options and the job, but no texts."
      : "";
    const parts = [packed && `form=${packed}`, this.job && `job=${this.job}`].filter(Boolean);
    history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
  }
}
