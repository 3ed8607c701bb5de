// Scores of the answer as the list of segments reads them, and alignments that the service is asked for one by one.

// Somebody who walks through the list with the arrow keys does not want every alignment on the way.
const BEFORE_ASKING = 120;
const MOST_IDF_BYTES = 800_000;

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
    const recipe = body.metrics.length === metrics.length ? body.metrics[metric] : metrics[metric].signature;
    const request = {
      hyp: body.systems[this.names[system]][segment],
      metric: recipe,
      options: body.options,
      beside: true,
      shapley: false,
    };
    if (body.refs) request.ref = body.refs[segment];
    if (body.sources) request.source = body.sources[segment];
    const { others, left } = this.otherTexts(metrics[metric], this.names[system], segment);
    if (others) request.others = others;
    const { alignment } = await askJson("v1/explain?format=alignment", { body: request });
    if (left)
      alignment.notes.push(
        "Explained by itself: the other texts, on which its words are weighed, are too many to send.",
      );
    return alignment;
  }

  // Words weigh by how rare they are in all texts, so a metric with idf must see them; SentSim scales over all.
  otherTexts({ signature }, system, segment) {
    if (!/\|(idf:(refs|both)|bounds:corpus)/.test(signature)) return {};
    const { systems, refs, sources } = this.body;
    const rest = (texts) => texts.filter((_, at) => at !== segment);
    const others = { hyps: rest(systems[system]) };
    if (refs) others.refs = rest(refs);
    if (sources) others.sources = rest(sources);
    const count = Object.values(others).flat(2).length;
    const small = count + 3 < service.limits.texts && JSON.stringify(others).length < MOST_IDF_BYTES;
    return small ? { others } : { left: true };
  }
}
