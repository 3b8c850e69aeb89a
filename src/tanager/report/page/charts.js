// Small charts in SVG: lines in a frame, and bars under cut points.

function ticks(low, high, most) {
  const raw = (high - low) / most || 1;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((m) => m * size >= raw * 0.999) * size;
  const first = Math.ceil(low / step - 1e-9);
  return range(Math.floor(high / step + 1e-9) - first + 1).map((k) => (first + k) * step);
}

// series: [{points: [[x, y], ...], kind, dots}], with dots each point has words and a radius too; limits: [xLow, xHigh, yLow, yHigh].
function lineChart({ title, description, xLabel, yLabel, series, limits, caption = true, shape = [300, 250] }) {
  const [width, height] = shape;
  const [x0, x1, y0, y1] = limits;
  const marks = ticks(x0, x1, 5).map((x) => [x, short(x, 5)]), yTicks = ticks(y0, y1, 5);
  const left = 30 + 6.6 * Math.max(3, ...yTicks.map((y) => short(y, 5).length)), top = 10, w = width - left - 12, h = height - top - 42;
  const px = (x) => left + (w * (x - x0)) / (x1 - x0 || 1), py = (y) => top + h - (h * (y - y0)) / (y1 - y0 || 1);
  const frame = [
    ...yTicks.map((y) => svg("line", { class: "grid", x1: left, x2: left + w, y1: py(y), y2: py(y) })),
    ...yTicks.map((y) => svg("text", { class: "tick end", x: left - 6, y: py(y) + 4 }, short(y, 5))),
    ...marks.map(([x, words]) => svg("text", { class: "tick middle", x: px(x), y: top + h + 16 }, words)),
    svg("text", { class: "axis middle", x: left + w / 2, y: height - 6 }, xLabel),
    svg("text", { class: "axis middle", transform: `translate(11,${top + h / 2}) rotate(-90)` }, yLabel),
  ];
  const lines = series.flatMap(({ points, kind, dots }) => [
    svg("polyline", { class: `line ${kind}`, points: points.map(([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`).join(" ") }),
    ...(dots ? points.map(([x, y, words, r]) => svg("circle", { class: `dot ${kind}`, cx: px(x), cy: py(y), r }, svg("title", {}, words))) : []),
  ]);
  return el("figure", { class: "chart" }, caption ? el("figcaption", {}, title) : null,
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}. ${description}` }, frame, lines));
}

// bars: [[count per class], ...]; cuts: places between 0 and 1.
function histogram(bars, cuts, words, shape = [240, 84]) {
  const [width, height] = shape;
  const totals = bars.map((bar) => bar.reduce((sum, n) => sum + n, 0));
  const highest = Math.max(1, ...totals), w = width / bars.length;
  const rects = bars.flatMap((bar, k) => {
    let below = 0;
    return bar.map((n, c) => {
      const tall = (height * n) / highest;
      below += tall;
      return n ? svg("rect", { class: `class-${c}`, x: (k * w + 0.5).toFixed(2), width: Math.max(0.5, w - 1).toFixed(2), y: (height - below).toFixed(2), height: tall.toFixed(2) }) : null;
    });
  });
  const lines = cuts.map(([x, label]) => svg("line", { class: "cut", x1: x * width, x2: x * width, y1: 0, y2: height }, svg("title", {}, label)));
  return svg("svg", { class: "histogram", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": words }, rects, lines);
}
