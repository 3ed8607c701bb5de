// Scores and texts of segments, and questions put to them.

// What has no alignments to show: scores of other tools, metrics that match no words.
const NO_EXPLANATIONS = {
  segments: new Set(), // those that have one, where it is known before
  perSegment: 0, // systems of a segment that have one, at most
  find: async () => null, // what one pair's view shows, or null
  systems: async () => [], // places of the systems of a segment that have one
};

class SegmentScores {
  // metrics: {name, higher, shown, values}, values by system and segment; shown: decimals.
  // texts: by segment the source, the references, and the output of each system; null where there is none.
  constructor({ systems, count, metrics, names = null, documents = null, texts = null }, explanations) {
    Object.assign(this, { systems, count, metrics, names, documents, texts });
    this.explanations = explanations ?? NO_EXPLANATIONS;
    this.folded = [];
  }

  label(segment) {
    return this.names ? this.names[segment] : String(segment);
  }
  document(segment) {
    return this.documents ? this.documents[segment] : "";
  }

  score(metric, system, segment) {
    return this.metrics[metric].values[system][segment];
  }

  // Above 0: the first system is better.
  difference(metric, first, second, segment) {
    const found = this.score(metric, first, segment) - this.score(metric, second, segment);
    return this.metrics[metric].higher ? found : -found;
  }

  // How far all systems lie apart on a segment.
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

  // All texts of a segment in small letters, made when they are first searched.
  searchable(segment) {
    if (this.folded[segment] === undefined) {
      const texts = this.texts ? this.texts[segment].flat() : [];
      this.folded[segment] = [this.label(segment), this.document(segment), ...texts].join("\n").toLocaleLowerCase();
    }
    return this.folded[segment];
  }
}
