// Files that a reader opens or drops, as text: UTF-8, also gzip. What is no list of lines is refused, in words.

const MOST_BYTES = 20_000_000;
const COLUMNS = /\.(tsv|csv|jsonl?|xml|sgm|docx?|xlsx?|pdf|zip)$/i;

// The text of a file; throws an Error that says what is wrong with it.
async function readTextFile(file) {
  if (COLUMNS.test(file.name))
    throw new Error(`${file.name} is no plain text: save the texts with one segment a line, or use nlgauge score.`);
  if (file.size > MOST_BYTES) throw new Error(`${file.name} has more than ${MOST_BYTES / 1e6} MB.`);
  let bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = await unzipped(file);
  const start = (bytes[0] << 8) | bytes[1];
  if (start === 0xfffe || start === 0xfeff) throw new Error(`${file.name} is UTF-16: save it as UTF-8.`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file.name} is not UTF-8: save it as UTF-8.`);
  }
  if (!text) throw new Error(`${file.name} is empty.`);
  // Latin letters in UTF-16 without a mark at its beginning are UTF-8 too, with this character between them.
  if (text.includes("\0")) throw new Error(`${file.name} is no plain text in UTF-8: save it as UTF-8.`);
  return text;
}

async function unzipped(file) {
  const stream = file.stream().pipeThrough(new DecompressionStream("gzip"));
  const reader = stream.getReader();
  const parts = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      // A small file may unpack to gigabytes.
      if (size > MOST_BYTES) break;
      parts.push(value);
    }
  } catch {
    throw new Error(`${file.name} is damaged: it cannot be unpacked.`);
  }
  if (size > MOST_BYTES) {
    reader.cancel();
    throw new Error(`${file.name} unpacks to more than ${MOST_BYTES / 1e6} MB.`);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

// A line ends at "\n" or "\r\n" and nowhere else, as in files that nlgauge reads; the last line need not end.
function splitLines(text) {
  if (!text) return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => line.replace(/\r$/, ""));
}

// The name of a system from that of its file: without folders and endings.
const systemName = (fileName) => fileName.replace(/(\.(txt|text|hyp|out|gz|[a-z]{2}))+$/i, "") || fileName;
