// The packed data, and questions put to it.

async function unpack(id) {
  const letters = atob(byId(id).textContent);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

class Report {
  constructor(data) {
    this.systems = data.systems;
    this.count = data.count;
    this.names = data.names;
    this.documents = data.documents;
    this.texts = data.texts;
    this.explained = new Set(data.explained);
    this.explainedPerSegment = data.explained_systems; // at most
    this.explanations = null;
    this.folded = [];
    this.metrics = data.metrics.map((metric) => ({
      ...metric,
      shown: Math.min(metric.decimals, 4),
      values: metric.values.map((column) => Float64Array.from(column, (value) => value / 10 ** metric.decimals)),
    }));
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

  // Explanations are many and seldom all wanted, so they are unpacked when the first one is.
  async explanation(metric, system, segment) {
    if (!this.explained.has(segment)) return null;
    this.explanations ??= unpack("page-explanations");
    const { ranges, pairs } = await this.explanations;
    const found = pairs[`${metric}/${system}/${segment}`];
    if (!found) return null;
    const [hypothesis, reference, links, costs, against, sentence, contributions, removed] = found;
    return {
      words: [hypothesis, reference],
      links,
      costs: costs === 1,
      against,
      sentence,
      contributions,
      removed,
      range: ranges[metric] || [0, 1000],
    };
  }

  // Places of the systems whose alignment of a segment is part of the page: of many systems, two.
  async explainedSystems(metric, segment) {
    if (!this.explained.has(segment)) return [];
    this.explanations ??= unpack("page-explanations");
    const { pairs } = await this.explanations;
    return this.systems.map((_, at) => at).filter((at) => pairs[`${metric}/${at}/${segment}`]);
  }
}
