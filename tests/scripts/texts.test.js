// Texts of the form: lines, trailing blank lines, names from files, languages.

const assert = require("node:assert/strict");
const test = require("node:test");
const { load, plain } = require("./load.js");

const FILES = ["report/components/elements.js"].concat(
  ["files", "text_field", "languages"].map((name) => `apps/service/page/${name}.js`),
);
const { splitLines, alignedLines, systemName, linesInWords, guessLanguage } = load(FILES, [
  "splitLines",
  "alignedLines",
  "systemName",
  "linesInWords",
  "guessLanguage",
]);

test("lines end at LF or CRLF and nowhere else; the last one need not end", () => {
  assert.deepEqual(plain(splitLines("a\r\nb\u2028c\n")), ["a", "b\u2028c"]);
  assert.deepEqual(plain(splitLines("")), []);
  assert.deepEqual(plain(splitLines("a\n\n")), ["a", ""]);
});

test("trailing blank lines are dropped", () => {
  assert.deepEqual(
    plain(
      alignedLines([
        ["a", "b", ""],
        ["x", "y"],
      ]),
    ),
    [
      ["a", "b"],
      ["x", "y"],
    ],
  );
  assert.deepEqual(plain(alignedLines([["a", " ", ""], ["x"]])), [["a"], ["x"]]);
});

test("a blank line stays if another list has text there", () => {
  assert.deepEqual(
    plain(
      alignedLines([
        ["a", ""],
        ["x", "y"],
      ]),
    ),
    [
      ["a", ""],
      ["x", "y"],
    ],
  );
});

test("a list with nothing but too few blank lines is empty", () => {
  assert.deepEqual(plain(alignedLines([["a", "b"], [""], []])), [["a", "b"], [], []]);
});

test("missing lines are not filled up", () => {
  assert.deepEqual(plain(alignedLines([["a", "b"], ["x"]])), [["a", "b"], ["x"]]);
});

test("a system is named after its file, without extensions", () => {
  assert.equal(systemName("online-B.txt"), "online-B");
  assert.equal(systemName("uedin.en.txt.gz"), "uedin");
  assert.equal(systemName("v1.2"), "v1.2");
  assert.equal(systemName(".txt"), ".txt");
});

test("the line count names the file and blank lines at the end", () => {
  assert.equal(linesInWords(["a"]), "1 line");
  assert.equal(linesInWords(["a", "b", ""], "x.txt"), "3 lines from x.txt, the last one blank");
  assert.equal(linesInWords(["a", "", ""], "", true), "3 lines, the last 2 blank; the first 100 are shown");
  assert.equal(linesInWords([]), "");
});

test("languages are recognised in ordinary sentences", () => {
  const sentences = {
    en: "The ferry to the island has been cancelled because of strong winds. Heavy rain is expected on the coast.",
    de: "Die Fähre zur Insel fällt wegen starken Windes aus. An der Küste wird für morgen starker Regen erwartet, und das ist nicht alles.",
    fr: "Le ferry pour l'île est annulé à cause des vents forts. De la pluie est attendue sur la côte et dans les montagnes.",
    es: "El ferry a la isla se ha cancelado por el fuerte viento. Se espera lluvia en la costa y en las montañas.",
    it: "Il traghetto per l'isola è stato cancellato. La pioggia è attesa sulla costa e nel centro della città per il vento.",
    nl: "De veerboot naar het eiland is geschrapt. Er wordt veel regen verwacht op de kust en in de bergen van het land.",
    pt: "A balsa para a ilha foi cancelada por causa do vento. Espera-se chuva na costa e nas montanhas do norte.",
    ru: "Паром на остров отменён из-за сильного ветра.",
    zh: "由于强风，开往岛上的渡轮已被取消。",
    ja: "強風のため、島へのフェリーは欠航となりました。",
    ar: "ألغيت العبارة إلى الجزيرة بسبب الرياح القوية.",
  };
  for (const [code, sentence] of Object.entries(sentences)) assert.equal(guessLanguage(sentence), code);
});

test("short or unknown texts have no language", () => {
  assert.equal(guessLanguage(""), null);
  assert.equal(guessLanguage("Die Katze"), null);
  assert.equal(
    guessLanguage("lorem ipsum dolor sit amet consectetur adipiscing elit sed eiusmod tempor magna aliqua"),
    null,
  );
});
