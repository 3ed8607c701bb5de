// Scores of the answer as the list of segments reads them, and alignments that the service is asked for one by one.

// Somebody who walks through the list with the arrow keys does not want every alignment on the way.
const BEFORE_ASKING = 120;
// How full a request is made, of what the service allows.
const FILLED = 0.9;

function segmentScores({ answer, body }) {
  const found = answer.comparison.metrics;
  const systems = found[0].systems.map((row) => row.system);
  const metrics = found.map(({ metric, signature, higher_is_better: higher }) => {
    const own = answer.scores.filter((score) => score.signature.split("||")[0] === signature);
    const values = systems.map((system) => {
      const score = own.find((one) => one.system === system);
      return Float64Array.from(score.segments, (segment) => segment[score.main]);
    });
    return { name: metric, higher, shown: decimalsFor(values.flatMap((column) => [...column])), values, signature };
  });
  const count = found[0].n;
  const scores = { systems, count, metrics, texts: body && textsBySegment(body, systems, count) };
  return new SegmentScores(scores, body && new ServiceExplanations(body, metrics, systems));
}

function textsBySegment(body, systems, count) {
  return Array.from({ length: count }, (_, at) => [
    body.sources ? body.sources[at] : null,
    body.refs ? [body.refs[at]].flat() : [],
    ...systems.map((system) => body.systems[system][at]),
  ]);
}

class ServiceExplanations {
  constructor(body, metrics, systems) {
    this.body = body;
    this.metrics = metrics;
    this.names = systems;
    this.segments = new Set(); // not known before: each is made when it is asked for
    this.perSegment = systems.length;
    this.known = new Map();
    this.steps = new Map();
  }

  async systems() {
    return [];
  }

  // What the view of a pair shows; null where the metric matches no words, or nobody looks any more.
  async find(metric, system, segment, wanted) {
    if (!this.metrics[metric].signature.includes("|model:")) return null;
    const name = `${metric}/${system}/${segment}`;
    if (!this.known.has(name)) {
      await pause(BEFORE_ASKING);
      if (!wanted()) return null;
      try {
        this.known.set(name, await this.asked(metric, system, segment));
      } catch (error) {
        return { notes: [inWords(error)] };
      }
    }
    return this.known.get(name);
  }

  async asked(metric, system, segment) {
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
        `Words weigh here by idf of ${counted(count + 1, "segment")}, which fit into a request; in the list by all.`,
      );
    return alignment;
  }

  // Words weigh by how rare they are in all texts, so a metric with idf must see them; SentSim scales over all.
  otherTexts({ signature }, system, segment) {
    if (!/\|(idf:(refs|both)|bounds:corpus)/.test(signature)) return {};
    const { systems, refs, sources } = this.body;
    const step = this.stepOf(system);
    const kept = systems[system].map((_, at) => at).filter((at) => at !== segment && at % step === 0);
    const others = { hyps: kept.map((at) => systems[system][at]) };
    if (refs) others.refs = kept.map((at) => refs[at]);
    if (sources) others.sources = kept.map((at) => sources[at]);
    return { others, count: kept.length };
  }

  // Every so many segments are sent along: 1 is all of them, more where a request may not hold them.
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
