// Scores and texts of segments.

// For scores without alignments: those of other tools, or of metrics that match no words.
const NO_EXPLANATIONS = {
  segments: new Set(), // segments with alignments, if known in advance
  perSegment: 0, // largest number of systems of a segment with alignments
  find: async () => null, // the alignment of a pair, or null
  systems: async () => [], // indices of the systems of a segment with alignments
};

class SegmentScores {
  // metrics: {name, higher, shown, values}, values by system and segment; shown: decimals.
  // texts: by segment the source, the references, and the output of each system; null if there is none.
  constructor({ systems, count, metrics, names = null, documents = null, texts = null }, explanations) {
    Object.assign(this, { systems, count, metrics, names, documents, texts });
    this.explanations = explanations ?? NO_EXPLANATIONS;
    this.folded = [];
  }

  label(segment) {
    return this.names ? this.names[segment] : String(segment + 1); // as editors number lines
  }
  document(segment) {
    return this.documents ? this.documents[segment] : "";
  }

  score(metric, system, segment) {
    return this.metrics[metric].values[system][segment];
  }

  // Above 0: the first system is better.
  difference(metric, first, second, segment) {
    const difference = this.score(metric, first, segment) - this.score(metric, second, segment);
    return this.metrics[metric].higher ? difference : -difference;
  }

  // Range of the scores of all systems on a segment.
  spread(metric, segment) {
    let low = Infinity,
      high = -Infinity;
    for (const column of this.metrics[metric].values) {
      low = Math.min(low, column[segment]);
      high = Math.max(high, column[segment]);
    }
    return high - low;
  }

  source(segment) {
    return this.texts ? this.texts[segment][0] : null;
  }
  references(segment) {
    return this.texts ? this.texts[segment][1] : [];
  }
  output(system, segment) {
    return this.texts ? this.texts[segment][2 + system] : null;
  }

  // All texts of a segment in lower case, computed at the first search.
  searchable(segment) {
    if (this.folded[segment] === undefined) {
      const texts = this.texts ? this.texts[segment].flat() : [];
      this.folded[segment] = [this.label(segment), this.document(segment), ...texts].join("\n").toLocaleLowerCase();
    }
    return this.folded[segment];
  }
}
