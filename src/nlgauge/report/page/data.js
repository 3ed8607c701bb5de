// The packed data of the file: scores and texts at once, explanations on first use.

async function unpack(id) {
  const letters = atob(byId(id).textContent);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function unpackedScores(data) {
  const metrics = data.metrics.map((metric) => ({
    ...metric,
    shown: Math.min(metric.decimals, 4),
    values: metric.values.map((column) => Float64Array.from(column, (value) => value / 10 ** metric.decimals)),
  }));
  return new SegmentScores({ ...data, metrics }, new PackedExplanations(data));
}

class PackedExplanations {
  constructor(data) {
    this.segments = new Set(data.explained);
    this.perSegment = data.explained_systems;
    this.places = data.systems.map((_, i) => i);
  }

  // Explanations are large and often not needed, so they are unpacked on first use.
  unpacked() {
    this.content ??= unpack("page-explanations");
    return this.content;
  }

  async find(metric, system, segment) {
    if (!this.segments.has(segment)) return null;
    const { ranges, pairs } = await this.unpacked();
    const pair = pairs[`${metric}/${system}/${segment}`];
    if (!pair) return null;
    const [hypothesis, reference, links, costs, against, sentence, contributions, removed] = pair;
    const kind = costs ? "flow" : "greedy";
    const range = ranges[metric] || [0, 1000];
    return {
      words: [hypothesis, reference],
      alignments: [{ kind, links, costs: costs === 1, range, contributions }],
      against,
      sentence,
      removed,
    };
  }

  // Indices of the systems with an alignment of a segment: two if there are many systems.
  async systems(metric, segment) {
    if (!this.segments.has(segment)) return [];
    const { pairs } = await this.unpacked();
    return this.places.filter((system) => pairs[`${metric}/${system}/${segment}`]);
  }
}
