// Scatter plot of two systems or two metrics. A point is a segment; a click opens it.

const ALL = "all";

class Scatter {
  constructor(scores, open) {
    this.scores = scores;
    this.open = open;
    this.canvas = byId("scatter-canvas");
    const last = scores.metrics.length - 1;
    const pair = scores.systems.length > 1;
    this.axes = [
      { name: "Horizontal", system: pair ? 1 : 0, metric: 0 },
      { name: "Vertical", system: 0, metric: pair ? 0 : last },
    ];
    this.controls();
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => {
      byId("scatter-tip").hidden = true;
    });
    this.canvas.addEventListener("click", (event) => {
      const near = this.nearest(event);
      if (near) {
        this.open(near.segment);
        byId("segments").scrollIntoView();
      }
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.refresh();
  }

  controls() {
    const { scores } = this;
    const systems = scores.systems.map((name, at) => [at, name]);
    if (scores.systems.length > 1) systems.push([ALL, "all systems"]);
    const metrics = scores.metrics.map((metric, at) => [at, metric.name]);
    this.selects = [];
    this.axes.forEach((axis) => {
      const system = choice(`${axis.name}: system`, systems, axis.system, (value) => this.chooseSystem(axis, value));
      const metric = choice(`${axis.name}: metric`, metrics, axis.metric, (value) => {
        axis.metric = Number(value);
        this.refresh();
      });
      this.selects.push(system.select);
      byId("scatter-controls").append(system.field, metric.field);
    });
  }

  // All systems are chosen on both axes or on neither.
  chooseSystem(axis, value) {
    const other = this.axes.find((one) => one !== axis);
    axis.system = value === ALL ? ALL : Number(value);
    if (value === ALL) other.system = ALL;
    else if (other.system === ALL) other.system = axis.system;
    this.axes.forEach((one, at) => {
      this.selects[at].value = String(one.system);
    });
    this.refresh();
  }

  refresh() {
    const { scores } = this;
    const [x, y] = this.axes;
    const systems = x.system === ALL ? scores.systems.map((_, at) => [at, at]) : [[x.system, y.system]];
    this.points = [];
    for (const [one, two] of systems) {
      for (let at = 0; at < scores.count; at += 1) {
        this.points.push({ segment: at, x: scores.score(x.metric, one, at), y: scores.score(y.metric, two, at) });
      }
    }
    const ends = [x, y].map((_, at) => extent(this.points.map((point) => (at ? point.y : point.x))));
    const same = x.metric === y.metric;
    const shared = [Math.min(ends[0][0], ends[1][0]), Math.max(ends[0][1], ends[1][1])];
    this.ends = same ? [shared, shared] : ends;
    this.same = same;
    this.say();
    this.draw();
  }

  title(axis) {
    const system = axis.system === ALL ? "all systems" : this.scores.systems[axis.system];
    return `${system}, ${this.scores.metrics[axis.metric].name}`;
  }

  say() {
    const [x, y] = this.axes;
    const r = pearson(this.points);
    const parts = [
      `${counted(this.points.length, "point")}: ${this.title(x)} (horizontal), ${this.title(y)} (vertical). `,
    ];
    if (Number.isFinite(r)) parts.push(`Pearson's r: ${formatted(r, 3)}. `);
    if (this.same && x.system !== y.system) {
      const above = this.points.filter((point) => point.y > point.x).length;
      const below = this.points.filter((point) => point.y < point.x).length;
      parts.push(`${above.toLocaleString("en")} points are above the line, ${below.toLocaleString("en")} below. `);
    }
    byId("scatter-said").textContent = `${parts.join("")}Click a point to open its segment.`;
  }

  draw() {
    const { canvas } = this;
    const size = canvas.clientWidth;
    if (!size || !this.points) return;
    const scale = window.devicePixelRatio || 1;
    canvas.width = canvas.height = Math.round(size * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const box = { left: 54, top: 10, right: size - 12, bottom: size - 44 };
    this.place = (value, at) => {
      const [low, high] = this.ends[at];
      const share = (value - low) / (high - low);
      return at ? box.bottom - share * (box.bottom - box.top) : box.left + share * (box.right - box.left);
    };
    this.grid(pen, box, colour, size);
    pen.fillStyle = colour("--accent");
    const many = this.points.length;
    pen.globalAlpha = many > 20000 ? 0.12 : many > 2000 ? 0.3 : 0.6;
    const width = many > 20000 ? 2 : many > 500 ? 3 : 5;
    for (const point of this.points) {
      const x = this.place(point.x, 0),
        y = this.place(point.y, 1);
      if (width < 4) {
        pen.fillRect(x - width / 2, y - width / 2, width, width);
        continue;
      }
      pen.beginPath();
      pen.arc(x, y, width / 1.6, 0, 7);
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  grid(pen, box, colour, size) {
    pen.font = "12px system-ui, sans-serif";
    pen.lineWidth = 1;
    [0, 1].forEach((at) => {
      for (const tick of ticksBetween(...this.ends[at])) {
        const place = Math.round(this.place(tick.value, at)) + 0.5;
        pen.strokeStyle = colour("--faint");
        pen.beginPath();
        if (at) {
          pen.moveTo(box.left, place);
          pen.lineTo(box.right, place);
        } else {
          pen.moveTo(place, box.top);
          pen.lineTo(place, box.bottom);
        }
        pen.stroke();
        pen.fillStyle = colour("--soft");
        pen.textAlign = at ? "right" : "center";
        pen.textBaseline = at ? "middle" : "top";
        pen.fillText(tick.text, at ? box.left - 6 : place, at ? place : box.bottom + 6);
      }
    });
    if (this.same) {
      pen.strokeStyle = colour("--soft");
      pen.setLineDash([4, 4]);
      pen.beginPath();
      pen.moveTo(box.left, box.bottom);
      pen.lineTo(box.right, box.top);
      pen.stroke();
      pen.setLineDash([]);
    }
    pen.fillStyle = colour("--text");
    pen.textAlign = "center";
    pen.textBaseline = "bottom";
    const room = box.right - box.left;
    pen.fillText(cut(pen, this.title(this.axes[0]), room), (box.left + box.right) / 2, size - 4);
    pen.save();
    pen.translate(12, (box.top + box.bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textBaseline = "middle";
    pen.fillText(cut(pen, this.title(this.axes[1]), room), 0, 0);
    pen.restore();
  }

  nearest(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left,
      y = event.clientY - box.top;
    let best = null,
      least = 144;
    for (const point of this.points) {
      const far = (this.place(point.x, 0) - x) ** 2 + (this.place(point.y, 1) - y) ** 2;
      if (far < least) {
        best = point;
        least = far;
      }
    }
    return best;
  }

  hover(event) {
    const tip = byId("scatter-tip");
    const near = this.nearest(event);
    tip.hidden = !near;
    this.canvas.style.cursor = near ? "pointer" : "default";
    if (!near) return;
    const [x, y] = this.axes.map((axis) => this.scores.metrics[axis.metric].shown);
    const scores = `${formatted(near.x, x)}, ${formatted(near.y, y)}`;
    tip.textContent = `segment ${this.scores.label(near.segment)}: ${scores}`;
    const left = this.place(near.x, 0);
    const right = left > this.canvas.clientWidth / 2;
    tip.style.left = right ? "auto" : `${left + 10}px`;
    tip.style.right = right ? `${this.canvas.clientWidth - left + 10}px` : "auto";
    tip.style.top = `${this.place(near.y, 1) - 12}px`;
  }
}

function extent(values) {
  let low = Infinity,
    high = -Infinity;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (!(high > low)) {
    low -= 0.5;
    high += 0.5;
  }
  const room = 0.03 * (high - low);
  return [low - room, high + room];
}

function cut(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let letters = Array.from(text);
  while (letters.length && pen.measureText(`${letters.join("")}…`).width > room) letters = letters.slice(0, -1);
  return `${letters.join("")}…`;
}

function pearson(points) {
  const n = points.length;
  let sx = 0,
    sy = 0;
  for (const { x, y } of points) {
    sx += x;
    sy += y;
  }
  const mx = sx / n,
    my = sy / n;
  let xx = 0,
    yy = 0,
    xy = 0;
  for (const { x, y } of points) {
    xx += (x - mx) ** 2;
    yy += (y - my) ** 2;
    xy += (x - mx) * (y - my);
  }
  return xy / Math.sqrt(xx * yy);
}
