// Opened or dropped files as text: UTF-8, also gzip. Other formats are refused with a message.

const MOST_BYTES = 20_000_000;
const COLUMNS = /\.(tsv|csv|jsonl?|xml|sgm|docx?|xlsx?|pdf|zip)$/i;

// The text of a file; throws an Error whose message the page shows.
async function readTextFile(file) {
  if (COLUMNS.test(file.name))
    throw new Error(`${file.name} is not plain text. Save it with one sentence per line, or use the command line.`);
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than ${MOST_BYTES / 1e6} MB.`);
  let bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = await unzipped(file);
  const start = (bytes[0] << 8) | bytes[1];
  if (start === 0xfffe || start === 0xfeff) throw new Error(`${file.name} is UTF-16. Save it as UTF-8.`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file.name} is not UTF-8. Save it as UTF-8.`);
  }
  if (!text) throw new Error(`${file.name} is empty.`);
  // Latin letters in UTF-16 without a mark at its beginning are UTF-8 too, with this character between them.
  if (text.includes("\0")) throw new Error(`${file.name} is not plain text in UTF-8. Save it as UTF-8.`);
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
    throw new Error(`${file.name} is damaged and cannot be unpacked.`);
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

// Lists of lines without trailing blank lines. A blank line stays where another list has text: it is an empty output.
function alignedLines(lists) {
  const count = Math.max(0, ...lists.map((lines) => lines.findLastIndex((line) => line.trim()) + 1));
  return lists.map((lines) => {
    const kept = lines.slice(0, count);
    return kept.length === count || kept.some((line) => line.trim()) ? kept : [];
  });
}

// The name of a system from the name of its file, without extensions.
const systemName = (fileName) => fileName.replace(/(\.(txt|text|hyp|out|gz|[a-z]{2}))+$/i, "") || fileName;
