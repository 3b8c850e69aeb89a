// Pictures of effects, as log odds of one class against the mean of the others: steps, bars and heat maps.

const FEW_BINS = 6; // a number with so many bins or fewer is drawn as bars
const SMALL = { width: 280, height: 150, most: 10 }, LARGE = { width: 620, height: 240, most: 30 };

// e_c less the mean of the others' effects, at a cell of a table.
function oddsAt(table, cell, c, nClasses) {
  let total = 0;
  for (let k = 0; k < nClasses; k++) total += table[cell * nClasses + k];
  return (nClasses * table[cell * nClasses + c] - total) / Math.max(1, nClasses - 1);
}

// The main effect, with what trees say of the attribute alone. Effects of the classes sum to zero, and so do those of each
// fold: their spread grows as they do.
function mainEffect(network, node, c) {
  const { main, spread, density } = network.nodes[node];
  const nClasses = network.intercept.length, trees = treeShapes(network)?.alone[node];
  const states = network.nodes[node].states.map((name, s) => ({
    name, code: s, value: oddsAt(main, s, c, nClasses) + (trees ? oddsAt(trees, s, c, nClasses) : 0), share: density[s],
    spread: spread ? (spread[s * nClasses + c] * nClasses) / Math.max(1, nClasses - 1) : 0,
  }));
  return { states, largest: Math.max(...states.map(({ value, spread: s }) => Math.abs(value) + 2 * s)) };
}

function pairEffect(network, { parent, child, table }, c) {
  const nClasses = network.intercept.length;
  const wide = network.nodes[child].coarse.length + 1;
  const values = range(network.nodes[parent].coarse.length).map((i) => range(wide - 1).map((j) => oddsAt(table, i * wide + j, c, nClasses)));
  return { values, largest: Math.max(1e-9, ...values.flat().map(Math.abs)) };
}

// The chance of a class for an average row, one with the base rate, after a change of its log odds.
const chanceAt = (network, c, odds) => 1 / (1 + Math.exp(-(network.baseOdds[c] + odds)));
// Whole percentages; a chance that is neither none nor certain does not read as either.
const brief = (share) => (share > 0 && share < 0.005 ? "< 1 %" : share < 1 && share > 0.995 ? "> 99 %" : `${Math.round(100 * share)} %`);
const point = (share) => `${(100 * share).toFixed(1)} %`;

const picture = ({ width, height }, words, ...children) => svg("svg", { class: "shape", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, ...children);
const spoken = ({ name, value }) => `${name}: ${signed(value)}`;

// Steps over the bins. To scale, but where half of the bins would share a sliver of the axis all are equally wide.
function binPlaces(cuts, unit) {
  const low = cuts[0], high = cuts.at(-1), span = high - low;
  const widths = cuts.slice(1).map((cut, k) => cut - cuts[k]).sort((a, b) => a - b);
  const narrow = widths.slice(0, Math.ceil(widths.length / 2)).reduce((sum, w) => sum + w, 0);
  if (cuts.length > 3 && narrow < 0.08 * span) {
    const wanted = [...new Set(range(4).map((k) => Math.round((k * (cuts.length - 1)) / 3)))];
    return { edges: range(cuts.length + 2).map((k) => k / (cuts.length + 1)), marks: wanted.map((k) => [(k + 1) / (cuts.length + 1), cuts[k], k]), even: true };
  }
  const pad = span * 0.08 || Math.abs(low) * 0.1 || 1;
  const place = (x) => (x - low + pad) / (span + 2 * pad);
  const marks = unit || !span ? [...new Set([0, cuts.length - 1])].map((k) => [place(cuts[k]), cuts[k], k]) : ticks(low - pad / 2, high + pad / 2, 4).map((x) => [place(x), x, -1]);
  return { edges: [0, ...cuts.map(place), 1], marks, even: false };
}

function stepCurve(network, node, c, size, range_, mark) {
  const { name, cuts, cut_labels: labels, missing_state } = network.nodes[node];
  const { states } = mainEffect(network, node, c);
  const bins = states.slice(0, cuts.length + 1);
  const { edges, marks, even } = binPlaces(cuts, labels);
  const left = 40, right = missing_state ? 80 : 48, top = 8, strip = 20, w = size.width - left - right, h = size.height - top - strip - 24;
  const px = (x) => left + w * x, py = (y) => top + h / 2 - ((h / 2) * y) / range_;
  const base = top + h + 4 + strip;
  const heights = bins.map(({ share }, k) => (even ? share : share / (edges[k + 1] - edges[k])));
  const tallest = Math.max(1e-12, ...heights);
  const rect = (kind, k, y, tall, words) => svg("rect", { class: kind, x: px(edges[k]).toFixed(1), width: Math.max(0.4, w * (edges[k + 1] - edges[k])).toFixed(1), y: y.toFixed(1), height: Math.max(0, tall).toFixed(1) }, words ? svg("title", {}, words) : null);
  const band = bins.filter(({ spread }) => spread > 0).map(({ value, spread, code }) => rect("band", code, py(value + 2 * spread), py(value - 2 * spread) - py(value + 2 * spread)));
  const line = svg("polyline", { class: "line main", points: bins.flatMap(({ value }, k) => [edges[k], edges[k + 1]].map((x) => `${px(x).toFixed(1)},${py(value).toFixed(1)}`)).join(" ") });
  const last = missing_state ? states.at(-1) : null;
  const at = (code) => (last && code === last.code ? size.width - 58 : px((edges[code] + edges[code + 1]) / 2));
  return picture(size, `Log odds of ${name}. ${[bins[0], bins.at(-1), ...(last ? [last] : [])].map(spoken).join("; ")}.`,
    [-1, 0, 1].map((sign) => ticks(0, range_, 3).at(-1) * sign).map((y) => [svg("line", { class: y ? "grid" : "zero", x1: left, x2: size.width - 46, y1: py(y), y2: py(y) }), svg("text", { class: "tick end", x: left - 5, y: py(y) + 4 }, short(y, 2)), svg("text", { class: "tick end", x: size.width - 2, y: py(y) + 4 }, brief(chanceAt(network, c, y)))]).flat(),
    band, line,
    heights.map((tall, k) => rect("density", k, base - (strip * tall) / tallest, (strip * tall) / tallest)),
    bins.map(({ value, share, spread, name: words }, k) => rect("target", k, top, base - top, `${words}: ${signed(value)}${spread ? ` ± ${(2 * spread).toFixed(2)}` : ""}, chance ${brief(chanceAt(network, c, value))}, ${percent(share)} of the rows`)),
    last ? [svg("line", { class: "line main", x1: size.width - 68, x2: size.width - 48, y1: py(last.value), y2: py(last.value) }, svg("title", {}, spoken(last))), svg("text", { class: "tick middle", x: size.width - 58, y: size.height - 5 }, "missing")] : null,
    mark >= 0 ? [svg("line", { class: "here", x1: at(mark), x2: at(mark), y1: top, y2: base }), svg("circle", { class: "here", cx: at(mark), cy: py(states[mark].value), r: 4 })] : null,
    marks.map(([x, value, k], d) => svg("text", { class: `tick ${d === marks.length - 1 && x > 0.9 ? "end" : d === 0 && x < 0.08 ? "" : "middle"}`, x: px(x), y: size.height - 5 }, labels ? cut(labels[k], 12) : short(value, 4))));
}

// One line for each state, or for those that add most to the importance; by their effect unless they have an order.
function stateBars(network, node, c, size, range_, mark) {
  const { name, kind, ordered } = network.nodes[node];
  const { states } = mainEffect(network, node, c);
  const kept = [...states].sort((a, b) => b.share * b.value ** 2 - a.share * a.value ** 2).slice(0, size.most).map(({ code }) => code);
  if (mark >= 0 && !kept.includes(mark)) kept[kept.length - 1] = mark;
  const shown = states.filter(({ code }) => kept.includes(code)).sort((a, b) => (ordered || kind === "numeric" ? a.code - b.code : b.value - a.value));
  const left = Math.min(0.45 * size.width, 16 + 6.4 * Math.max(...shown.map((state) => Math.min(state.name.length, 26)))), w = size.width - left - 12, line = 20;
  const height = shown.length * line + (states.length > shown.length ? 50 : 32);
  const px = (x) => left + w / 2 + ((w / 2) * x) / range_;
  const widest = Math.max(...shown.map(({ share }) => share), 1e-12);
  const rows = shown.map(({ name: words, code, value, spread, share }, k) => {
    const y = k * line;
    return svg("g", {}, svg("title", {}, `${words}: ${signed(value)}${spread ? ` ± ${(2 * spread).toFixed(2)}` : ""}, chance ${brief(chanceAt(network, c, value))}, ${percent(share)} of the rows`),
      svg("rect", { class: "target", x: 0, width: size.width, y, height: line }),
      svg("text", { class: code === mark ? "tick end strong" : "tick end", x: left - 6, y: y + 13 }, cut(words, Math.floor((left - 10) / 6.2))),
      svg("rect", { class: value < 0 ? "bar against" : "bar", x: Math.min(px(0), px(value)).toFixed(1), width: Math.max(1, Math.abs(px(value) - px(0))).toFixed(1), y: y + 3, height: 9 }),
      svg("rect", { class: "density", x: left, width: ((w * share) / widest).toFixed(1), y: y + 14, height: 3 }),
      spread ? svg("line", { class: "whisker", x1: px(value - 2 * spread), x2: px(value + 2 * spread), y1: y + 7.5, y2: y + 7.5 }) : null,
      code === mark ? svg("circle", { class: "here", cx: px(value), cy: y + 7.5, r: 4 }) : null);
  });
  const axis = height - (states.length > shown.length ? 34 : 16);
  const tick = (x, y, words) => svg("text", { class: `tick ${x > size.width - 24 ? "end" : "middle"}`, x: Math.min(x, size.width - 2), y }, words);
  return picture({ width: size.width, height }, `Log odds of ${name}. ${shown.map(spoken).join("; ")}.`, rows,
    svg("line", { class: "zero", x1: px(0), x2: px(0), y1: 0, y2: shown.length * line }),
    [-1, 0, 1].map((sign) => ticks(0, range_, 3).at(-1) * sign).map((x) => [tick(px(x), axis, short(x, 2)), tick(px(x), axis + 12, brief(chanceAt(network, c, x)))]).flat(),
    states.length > shown.length ? svg("text", { class: "tick", x: 4, y: height - 4 }, `the ${shown.length} of ${states.length} states that matter most`) : null);
}

function mainShape(network, node, c, size, range_ = 0, mark = -1) {
  const { kind, cuts, states } = network.nodes[node];
  if (states.length < 2) return el("p", { class: "muted small" }, "One state only: it is not informative.");
  const reach = Math.max(1e-3, range_, mainEffect(network, node, c).largest) * 1.05;
  return (kind === "numeric" && cuts.length >= FEW_BINS ? stepCurve : stateBars)(network, node, c, size, reach, mark);
}

// How many rows of the page are in each cell of a pair, of those with some states of a third; null for a page without rows.
function pairCounts({ given, nodes }, { parent, child, only }) {
  if (!given) return null;
  const counts = nodes[parent].coarse.map(() => new Array(nodes[child].coarse.length).fill(0)), wide = nodes.length - 1;
  for (let row = 0; row < given.kept; row++) {
    const i = nodes[parent].groups[given.codes[row * wide + parent]], j = nodes[child].groups[given.codes[row * wide + child]];
    if (i !== undefined && j !== undefined && (!only || only.inside[given.codes[row * wide + only.node]])) counts[i][j] += given.every;
  }
  return counts;
}

// A coarse state in few letters: of bins where they begin.
function coarseLabel({ kind, coarse, groups, cuts, cut_labels: labels }, state) {
  if (kind !== "numeric" || !/^[[>]/.test(coarse[state])) return coarse[state];
  const first = groups.indexOf(state) - 1;
  return `≥ ${labels ? labels[first] : short(cuts[first], 3)}`;
}

// Each so-manieth of a list with its position, so that labels do not overlap.
function every(list, step) {
  return list.map((item, position) => [item, position]).filter(([, position]) => position % Math.max(1, Math.ceil(step)) === 0);
}

// The parent's states from top to bottom, the child's from left to right; of many categories the most frequent.
function pairShape(network, pair, c, size, codes = null, reach = 0) {
  const { parent, child } = pair;
  const effect = pairEffect(network, pair, c), { values } = effect;
  const largest = Math.max(reach, effect.largest);
  const counts = pairCounts(network, pair), most_rows = counts ? Math.max(1, ...counts.flat()) : 1;
  const most = size === LARGE ? 14 : 8, banded = !network.edited && pair.deviations?.some((each) => each > 0);
  const chosen = (node) => {
    const { kind, coarse, groups, density } = network.nodes[node];
    if (kind === "numeric") return range(coarse.length);
    const shares = coarse.map((_, g) => groups.reduce((sum, group, s) => sum + (group === g ? density[s] : 0), 0));
    return range(coarse.length).sort((a, b) => shares[b] - shares[a]).slice(0, most).sort((a, b) => a - b);
  };
  const down = chosen(parent), across = chosen(child);
  const label = (node, state, letters) => cut(size === LARGE ? network.nodes[node].coarse[state] : coarseLabel(network.nodes[node], state), letters);
  const letters = size === LARGE ? 22 : 13;
  const left = 14 + 6.3 * Math.max(...down.map((i) => Array.from(label(parent, i, letters)).length));
  const below = 8 + 4.4 * Math.max(...across.map((j) => Array.from(label(child, j, letters)).length));
  const w = Math.min(size === LARGE ? 76 : 58, (size.width - left - 30) / across.length), row = size === LARGE ? (banded ? 34 : 26) : down.length > 5 ? 18 : 24;
  const h = Math.min(row, (most * row) / down.length);
  // Room for the first label, which is higher than a low row.
  const top = Math.max(1, 7 - h / 2), at = (y) => top + y * h;
  const width = size.width, height = at(down.length) + below + 14;
  const decimals = Math.min(6, Math.max(2, 1 + Math.ceil(-Math.log10(largest))));
  // Of the log odds of the class, where intervals were prepared.
  const nClasses = network.intercept.length;
  const deviation = (i, j) => (banded ? pair.deviations[(i * network.nodes[child].coarse.length + j) * nClasses + c] : 0);
  const here = (node, state) => codes && codes[node] >= 0 && network.nodes[node].groups[codes[node]] === state;
  const cells = down.flatMap((i, y) => across.map((j, x) => {
    const value = values[i][j], spread = deviation(i, j), uncertain = spread > 0 && Math.abs(value) < 2 * spread;
    return svg("g", {}, svg("title", {}, `${network.nodes[parent].coarse[i]} and ${network.nodes[child].coarse[j]}: ${signed(value, decimals)}${spread ? ` ± ${(2 * spread).toFixed(decimals)}` : ""}${counts ? `, ${plural(counts[i][j], "row")}` : ""}`),
      svg("rect", { class: value < 0 ? "cell against" : "cell", "--heat": (Math.abs(value) / largest).toFixed(3), x: (left + x * w).toFixed(1), y: at(y), width: (w - 1).toFixed(1), height: h - 1 }),
      uncertain ? svg("circle", { class: "uncertain", cx: (left + x * w + w - 5).toFixed(1), cy: (at(y) + 4).toFixed(1), r: Math.min(2.2, h / 6, w / 6).toFixed(1) }) : null,
      size === LARGE && w > 38 && h > 14 ? svg("text", { class: "tick middle ink", x: left + x * w + w / 2, y: at(y) + h / 2 + (banded ? -2 : 3) }, signed(value, decimals)) : null,
      size === LARGE && w > 38 && h > 30 && spread ? svg("text", { class: "tick middle ink", x: left + x * w + w / 2, y: at(y) + h / 2 + 11 }, `± ${(2 * spread).toFixed(decimals)}`) : null,
      counts && counts[i][j] ? svg("rect", { class: "density", x: (left + x * w).toFixed(1), y: (at(y) + h - 4).toFixed(1), width: (((w - 1) * counts[i][j]) / most_rows).toFixed(1), height: 3 }) : null,
      here(parent, i) && here(child, j) ? svg("rect", { class: "here", x: left + x * w, y: at(y), width: w - 1, height: h - 1 }) : null);
  }));
  return picture({ width, height }, `Heat map of ${network.nodes[parent].name} and ${network.nodes[child].name}, log odds from ${signed(-largest, decimals)} to ${signed(largest, decimals)}.`,
    cells,
    every(down, 12 / h).map(([i, y]) => svg("text", { class: "tick end", x: left - 5, y: (at(y) + h / 2 + 3).toFixed(1) }, label(parent, i, letters))),
    every(across, 18 / w).map(([j, x]) => svg("text", { class: "tick end", transform: `translate(${(left + x * w + w / 2 + 3).toFixed(1)},${(at(down.length) + 11).toFixed(1)}) rotate(-38)` }, label(child, j, letters))));
}
