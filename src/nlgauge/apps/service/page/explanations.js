// Scores of the answer for the list of segments, and alignments, which are requested one by one.

// Milliseconds before an alignment is requested, so that arrow keys can skip segments.
const BEFORE_ASKING = 120;
// Share of the service's limits that a request may use.
const FILLED = 0.9;

function segmentScores({ answer, body }) {
  const { metrics: compared } = answer.comparison;
  const systems = compared[0].systems.map((row) => row.system);
  const metrics = compared.map(({ metric, signature, higher_is_better: higher }) => {
    const own = answer.scores.filter((score) => score.signature.split("||")[0] === signature);
    const values = systems.map((system) => {
      const score = own.find((row) => row.system === system);
      return Float64Array.from(score.segments, (segment) => segment[score.main]);
    });
    return {
      name: titleInWords(metric),
      higher,
      shown: decimalsFor(values.flatMap((column) => [...column])),
      values,
      signature,
    };
  });
  const count = compared[0].n;
  const scores = { systems, count, metrics, texts: body && textsBySegment(body, systems, count) };
  return new SegmentScores(scores, body && new ServiceExplanations(body, metrics, systems));
}

function textsBySegment(body, systems, count) {
  return Array.from({ length: count }, (_, i) => [
    body.sources ? body.sources[i] : null,
    body.refs ? [body.refs[i]].flat() : [],
    ...systems.map((system) => body.systems[system][i]),
  ]);
}

class ServiceExplanations {
  constructor(body, metrics, systems) {
    this.body = body;
    this.metrics = metrics;
    this.names = systems;
    this.segments = new Set(); // unknown: alignments are computed on request
    this.perSegment = systems.length;
    this.known = new Map();
    this.steps = new Map();
  }

  async systems() {
    return [];
  }

  // The alignment of a pair; null if the metric has none, or if another segment was chosen meanwhile.
  async find(metric, system, segment, wanted) {
    if (!this.metrics[metric].signature.includes("|model:")) return null;
    const name = `${metric}/${system}/${segment}`;
    if (!this.known.has(name)) {
      await pause(BEFORE_ASKING);
      if (!wanted()) return null;
      try {
        this.known.set(name, await this.request(metric, system, segment));
      } catch (error) {
        return { notes: [inWords(error)] };
      }
    }
    return this.known.get(name);
  }

  async request(metric, system, segment) {
    const { body, metrics } = this;
    const recipe = body.metric.length === metrics.length ? body.metric[metric] : metrics[metric].signature;
    const request = {
      hyp: body.systems[this.names[system]][segment],
      metric: recipe,
      options: body.options,
      beside: true,
      shapley: false,
    };
    if (body.refs) request.ref = body.refs[segment];
    if (body.sources) request.source = body.sources[segment];
    const { others, count } = this.otherTexts(metrics[metric], this.names[system], segment);
    if (others) request.others = others;
    const { alignment } = await askJson("v1/explain?format=alignment", { body: request });
    const all = body.systems[this.names[system]].length;
    if (others && count + 1 < all)
      alignment.notes.push(
        `The idf weights shown are from ${counted(count + 1, "segment")}; the score uses all segments.`,
      );
    return alignment;
  }

  // A metric with idf needs all texts, because rare words weigh more; SentSim scales over all texts.
  otherTexts({ signature }, system, segment) {
    if (!/\|(idf:(refs|both)|bounds:corpus)/.test(signature)) return {};
    const { systems, refs, sources } = this.body;
    const step = this.stepOf(system);
    const kept = systems[system].map((_, i) => i).filter((i) => i !== segment && i % step === 0);
    const others = { hyps: kept.map((i) => systems[system][i]) };
    if (refs) others.refs = kept.map((i) => refs[i]);
    if (sources) others.sources = kept.map((i) => sources[i]);
    return { others, count: kept.length };
  }

  // Every n-th segment is sent along: n is 1, or larger if a request cannot contain all segments.
  stepOf(system) {
    if (!this.steps.has(system)) {
      const { systems, refs, sources } = this.body;
      const texts = [systems[system], refs ?? [], sources ?? []].flat(2);
      const bytes = new TextEncoder().encode(JSON.stringify(texts)).length;
      const { texts: mostTexts, body_bytes: mostBytes } = service.limits;
      this.steps.set(system, Math.ceil(Math.max(texts.length / mostTexts, bytes / mostBytes) / FILLED));
    }
    return this.steps.get(system);
  }
}
