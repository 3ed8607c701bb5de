// What each metric is for, for readers who choose one. Metrics of installed packages have their own description.

// The most widely used; the others are folded.
const FIRST = ["bertscore", "moverscore", "chrf", "bleu"];

// Parts of a short signature that are no choice of the user: the default model with its layers, and versions.
const USUAL = /^minilm(-L(4|2-6))?$|^(nlgauge|h|sacrebleu|rouge_score|\w+_engine):/;

const USES = {
  bertscore: ["BERTScore", "Meaning similarity, tolerant of paraphrase."],
  moverscore: ["MoverScore", "Meaning similarity of words and phrases, as a whole. Slower."],
  chrf: ["chrF", "Overlap of character sequences. Fast, for any language, without a model."],
  bleu: ["BLEU", "Overlap of words and phrases. For comparison with other papers."],
  baryscore: ["BaryScore", "Difference in meaning, over several layers of the model."],
  cder: ["CDER", "Word edits, with free moves of blocks."],
  character: ["CharacTER", "Character edits after moves of words."],
  discoscore: ["DiscoScore", "Coherence of documents of several sentences, compared with a reference."],
  cider: ["CIDEr", "Words and phrases in common with several references. For captions."],
  "ds-focus": ["DS-Focus", "Difference in what documents keep talking about."],
  "ds-sent": ["DS-Sent", "Similarity in how the sentences of documents are connected."],
  eed: ["EED", "Character edits, with free moves of words."],
  "entity-graph": ["Entity graph", "Coherence of a document: whether neighbouring sentences share nouns."],
  "focus-frequency": ["Focus frequency", "Difference in how often documents mention their nouns. Without a model."],
  ibm1: ["IBM1", "Translation quality from the source, by word translations of parallel texts."],
  js: ["JS", "Difference in the words that summaries use."],
  lc: ["LC", "Lexical cohesion of a document: how many of its words are repeated."],
  learned: ["Learned metric", "Several metrics, combined as human ratings of translations suggest."],
  "lexical-graph": ["Lexical graph", "Coherence of a document: whether neighbouring sentences share related nouns."],
  "lexical-chain": ["Lexical chain", "Whether the topics of the reference run through the same sentences."],
  meteor: ["METEOR", "Words, stems and synonyms in common, with a penalty for word order."],
  nist: ["NIST", "Overlap of words and phrases; rare ones count more."],
  per: ["PER", "Word edits without regard to order."],
  rc: ["RC", "How often a document repeats its words."],
  "rouge-we": ["ROUGE-WE", "Words and phrases in common, also with similar meaning."],
  rouge1: ["ROUGE-1", "Words in common. Usual for summaries."],
  rouge2: ["ROUGE-2", "Pairs of words in common. Usual for summaries."],
  rougel: ["ROUGE-L", "Longest word sequence in common. Usual for summaries."],
  rougesu: ["ROUGE-SU4", "Words and pairs of words in common, also with words between them."],
  rougew: ["ROUGE-W", "Longest word sequence in common; adjacent words count more."],
  sari: ["SARI", "Simplification: words kept, added and deleted, compared with the source and references."],
  sbert: ["SBERT", "Meaning similarity of whole sentences, by vectors of the model."],
  sentsim: ["SentSim", "Translation quality from the source, without a reference."],
  smd: ["SMD", "Meaning similarity of whole sentences."],
  ter: ["TER", "Word edits and moves of blocks."],
  tfidf: ["TF*IDF", "Words in common, rare ones count more. For summaries."],
  wer: ["WER", "Word edits."],
  xmoverscore: ["XMoverScore", "Translation quality and fluency from the source, without a reference."],
  yisi0: ["YiSi-0", "Words with similar spelling; rare ones count more."],
  yisi1: ["YiSi-1", "Meaning similarity; rare words count more."],
};

const metricTitle = (name) => USES[name]?.[0] ?? name;

// "bertscore (layer:5)" or "bertscore:layer=5" with the metric's usual name.
const titleInWords = (label) => label.replace(/^[^ :]+/, metricTitle);

// Settings that differ from their defaults, as the short signature has them: "mpnet-L7, idf:refs".
function changedSettings(signature = "") {
  const parts = signature.split("|").slice(1);
  return parts.filter((part) => part && !USUAL.test(part)).join(", ");
}

// One or two sentences, then which way is better.
function metricUse({ name, what, better }) {
  const use = USES[name]?.[1] ?? `${what.replace(/; a distance$/, "").replace(/\.$/, "")}.`;
  return `${use} ${better === "lower" ? "Lower is better." : "Higher is better."}`;
}
