// Which language texts are probably in: enough for a hint that a model may not fit, not more.

const LANGUAGES = {
  ar: ["Arabic", /\p{Script=Arabic}/gu],
  ja: ["Japanese", /[\p{Script=Hiragana}\p{Script=Katakana}]/gu],
  ko: ["Korean", /\p{Script=Hangul}/gu],
  ru: ["Russian", /\p{Script=Cyrillic}/gu],
  th: ["Thai", /\p{Script=Thai}/gu],
  zh: ["Chinese", /\p{Script=Han}/gu],
  de: ["German", "auch auf das dem den der die ein eine für ist mit nicht sich und von wird zu"],
  en: ["English", "and are be for from has in is it of on that the to was were with"],
  es: ["Spanish", "con del el en es la las los no para por que se su un una y"],
  fr: ["French", "dans de des du en est et la le les par pas pour que qui sur un une"],
  it: ["Italian", "che con da del della di e gli il in la le nel non per si sono un una"],
  nl: ["Dutch", "aan de dat een en het in is met niet op te van voor wordt zijn"],
  pt: ["Portuguese", "a as com da de do e em na não no o os para por que são uma"],
};

// Shares of letters of a script, and of words that are frequent in a language, which decide.
const SCRIPT_SHARE = 0.3;
const WORD_SHARE = 0.15;
const FEWEST_WORDS = 12;

const languageName = (code) => LANGUAGES[code][0];

// The code of the language; null where the text is short, or could be several.
function guessLanguage(text) {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  const shares = [];
  for (const [code, [, marks]] of Object.entries(LANGUAGES)) {
    if (marks instanceof RegExp) {
      if ((text.match(marks)?.length ?? 0) > SCRIPT_SHARE * letters) return code;
    } else {
      const frequent = new Set(marks.split(" "));
      shares.push([words.filter((word) => frequent.has(word)).length / words.length, code]);
    }
  }
  shares.sort(([first], [second]) => second - first);
  const [[best, code], [next]] = shares;
  return words.length >= FEWEST_WORDS && best > WORD_SHARE && best > 1.3 * next ? code : null;
}
