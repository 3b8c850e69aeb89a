// What trees say of one attribute, of two together and of three, as sums that can be drawn.
//
// A row reaches a leaf where each attribute asked for on the way is in a set of states A. The trees are the sum over
// their leaves of value prod_a [x_a in A_a]. With attributes that are independent and spread as the training rows are,
// the part of a set S of attributes, which is zero on average over any one of them (Hoeffding 1948), is the sum of
//
//   value prod_{a in S} ([x_a in A_a] - P(A_a)) prod_{a not in S} P(A_a).

// A set that typically moves the log odds by less is not worth a picture.
const MOST_SETS_TRIED = 60, MOST_ATTRIBUTES = 120, MOST_PANELS = 4, LEAST_DRAWN = 0.02;

// The leaves of all trees, each with its class, its value and the sets of its way.
function leavesOf({ nodes }, { roots, classes, attributes, ends, offsets, left, means }) {
  const found = [];
  roots.forEach((root, tree) => {
    const open = [[root, []]];
    while (open.length) {
      const [at, way] = open.pop();
      if (at < 0) { found.push({ c: classes[tree], value: means[attributes.length + ~at], way }); continue; }
      const node = attributes[at], before = way.find((each) => each.node === node), { density } = nodes[node];
      for (const side of [0, 1]) {
        const inside = new Uint8Array(density.length), first = offsets[at];
        let share = 0;
        for (let s = 0; s < inside.length; s++) {
          if (left[first + s] === side && (!before || before.inside[s])) { inside[s] = 1; share += density[s]; }
        }
        open.push([ends[2 * at + side], [...way.filter((each) => each !== before), { node, inside, share }]]);
      }
    }
  });
  return found;
}

const restOf = (way, apart) => way.reduce((product, each) => (apart.includes(each) ? product : product * each.share), 1);

// For each attribute its part alone, (states, classes).
function aloneParts({ nodes, intercept: { length: nClasses } }, leaves) {
  const parts = nodes.slice(0, -1).map(({ states }) => new Float64Array(states.length * nClasses));
  for (const { c, value, way } of leaves) {
    for (const own of way) {
      const scale = value * restOf(way, [own]), part = parts[own.node];
      for (let s = 0; s < own.inside.length; s++) part[s * nClasses + c] += scale * (own.inside[s] - own.share);
    }
  }
  return parts;
}

// Sets of two or three attributes that leaves speak of, and a bound for the strength of each, which leaves that never cancel
// would have: a leaf's part of S is |value| prod_S sqrt(P (1 - P)) prod_rest P strong. The largest first.
function boundsOf(leaves, size, nNodes) {
  const alone = new Float64Array(nNodes), places = new Int32Array(nNodes).fill(-1);
  const sized = leaves.map(({ value, way }) => {
    const reached = way.filter(({ share }) => share > 0 && share < 1), whole = way.reduce((product, { share }) => product * share, Math.abs(value));
    const spread = reached.map(({ node, share }) => { const each = Math.sqrt((1 - share) / share); alone[node] += whole * each; return each; });
    return { reached, whole, spread };
  });
  const used = range(nNodes).filter((node) => alone[node] > 0).sort((a, b) => alone[b] - alone[a]).slice(0, MOST_ATTRIBUTES).sort((a, b) => a - b);
  used.forEach((node, k) => { places[node] = k; });
  const bounds = new Float64Array(used.length ** size);
  for (const { reached, whole, spread } of sized) {
    if (!(whole > 0)) continue;
    const at = reached.map(({ node }, k) => [places[node], spread[k]]).filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0]);
    for (let i = 0; i < at.length; i++) {
      for (let j = i + 1; j < at.length; j++) {
        const cell = at[i][0] * used.length + at[j][0], bound = whole * at[i][1] * at[j][1];
        if (size === 2) bounds[cell] += bound;
        else for (let k = j + 1; k < at.length; k++) bounds[cell * used.length + at[k][0]] += bound * at[k][1];
      }
    }
  }
  const digits = (cell) => range(size).map((place) => used[Math.floor(cell / used.length ** (size - 1 - place)) % used.length]);
  const found = [];
  bounds.forEach((bound, cell) => { if (bound >= LEAST_DRAWN) found.push([cell, bound]); });
  return found.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, MOST_SETS_TRIED).map(([cell, bound]) => ({ set: digits(cell), bound }));
}

// Of each group of an attribute's states the share of the training rows in it, and of each state its share in its group.
function groupShares({ density }, groups) {
  const totals = new Float64Array(1 + Math.max(...groups)), counts = new Float64Array(totals.length);
  groups.forEach((group, s) => { totals[group] += density[s]; counts[group] += 1; });
  return { groups, totals, weights: Float64Array.from(groups, (group, s) => (totals[group] > 0 ? density[s] / totals[group] : 1 / counts[group])) };
}

// [x in A] - P(A) of one attribute on the way to a leaf, on average over each group; kept, as many sets ask for it.
function factorOf(own, { groups, totals, weights }) {
  if (own.groups === groups) return own.factor;
  const factor = new Float64Array(totals.length).fill(-own.share);
  for (let s = 0; s < groups.length; s++) if (own.inside[s]) factor[groups[s]] += weights[s];
  Object.assign(own, { groups, factor });
  return factor;
}

function outer(one, other) {
  const found = new Float64Array(one.length * other.length);
  for (let i = 0, at = 0; i < one.length; i++) for (let j = 0; j < other.length; j++, at++) found[at] = one[i] * other[j];
  return found;
}

// The part of a set: (groups of the first, ..., of the last, classes), each attribute's states in the groups given.
function setPart({ nodes, intercept: { length: nClasses } }, leaves, set, groupings) {
  const within = set.map((node, k) => groupShares(nodes[node], groupings[k]));
  const part = new Float64Array(within.reduce((product, { totals }) => product * totals.length, nClasses));
  for (const { c, value, way } of leaves) {
    const chosen = set.map((node) => way.find((each) => each.node === node));
    if (chosen.includes(undefined)) continue;
    const factors = chosen.map((own, k) => factorOf(own, within[k]));
    // Products over all but the last attribute, which changes fastest.
    let scales = Float64Array.of(value * restOf(way, chosen));
    for (let k = 0; k < factors.length - 1; k++) scales = outer(scales, factors[k]);
    const last = factors[factors.length - 1];
    for (let start = 0, at = c; start < scales.length; start++) for (let group = 0; group < last.length; group++, at += nClasses) part[at] += scales[start] * last[group];
  }
  return { part, shares: within.map(({ totals }) => totals) };
}

// The root mean square of the log odds of a class against the others, as `tanager.network.effect_strength`.
function strengthOf(part, shares, nClasses) {
  const chances = shares.reduce((cells, own) => cells.flatMap((cell) => Array.from(own, (each) => cell * each)), [1]);
  let squares = 0;
  chances.forEach((chance, k) => { for (let c = 0; c < nClasses; c++) squares += chance * oddsAt(part, k, c, nClasses) ** 2; });
  return Math.sqrt(squares / nClasses);
}

// The strongest sets of a size, of those with the highest bounds.
function strongestSets(network, partOf, leaves, size, most) {
  const nClasses = network.intercept.length, found = [];
  for (const { set, bound } of boundsOf(leaves, size, network.nodes.length)) {
    if (found.length >= most && found[most - 1].importance >= bound) break;
    const { part, shares } = partOf(set);
    found.push({ set, importance: strengthOf(part, shares, nClasses) });
    found.sort((a, b) => b.importance - a.importance);
  }
  return found.slice(0, most).filter(({ importance }) => importance >= LEAST_DRAWN);
}

// A part of two attributes in the form of the table of a pair, which has a place for missing cells.
function pairTable({ nodes, intercept: { length: nClasses } }, [parent, child], part, start = 0) {
  const across = nodes[child].coarse.length, wide = across + 1;
  const table = new Float64Array((nodes[parent].coarse.length + 1) * wide * nClasses);
  nodes[parent].coarse.forEach((_, i) => table.set(part.subarray(start + i * across * nClasses, start + (i + 1) * across * nClasses), i * wide * nClasses));
  return table;
}

// What is drawn of the trees: their parts alone, and on demand those of two and of three attributes. Found again when
// corrections have changed the trees.
function treeShapes(network) {
  const { trees } = network;
  if (!trees) return null;
  if (network.treeShapes?.trees === trees) return network.treeShapes;
  // The leaves that speak of two attributes: of all leaves few do.
  const leaves = leavesOf(network, trees), ofTwo = new Map(), key = (a, b) => Math.min(a, b) * network.nodes.length + Math.max(a, b);
  leaves.forEach((leaf) => leaf.way.forEach((own, k) => {
    for (let j = 0; j < k; j++) {
      const two = key(own.node, leaf.way[j].node);
      if (ofTwo.has(two)) ofTwo.get(two).push(leaf); else ofTwo.set(two, [leaf]);
    }
  }));
  const leavesOfSet = ([first, ...others]) => others.map((other) => ofTwo.get(key(first, other)) ?? []).sort((a, b) => a.length - b.length)[0];
  const known = new Map();
  let pairs = null, triples = null;
  const partOf = (set, groups) => setPart(network, leavesOfSet(set), set, set.map(groups));
  const pair = (set) => { if (!known.has(set.join())) known.set(set.join(), partOf(set, (node) => network.nodes[node].groups)); return known.get(set.join()); };
  // Three attributes have at most four groups of states each.
  const triple = (set) => partOf(set, (node) => panelGroups(network.nodes[node]).groups);
  network.treeShapes = {
    trees,
    alone: aloneParts(network, leaves),
    pairs: (most) => (pairs ??= strongestSets(network, pair, leaves, 2, most).map(({ set }) => set)),
    pair,
    triples: (most) => (triples ??= strongestSets(network, triple, leaves, 3, most).map(({ set, importance }) => inPanels(network, leavesOfSet(set), set, importance))),
  };
  return network.treeShapes;
}

// A pair as it is drawn: what its own effect says and the part of the trees. `importance` is the strength of both.
function drawnPair(network, pair) {
  const shapes = treeShapes(network), nClasses = network.intercept.length;
  if (!shapes) return pair;
  const set = [pair.parent, pair.child], { part: ofTrees, shares } = shapes.pair(set);
  const across = shares[1].length, part = ofTrees.slice();
  if (pair.table) part.forEach((_, k) => { const cell = Math.floor(k / nClasses); part[k] += pair.table[(Math.floor(cell / across) * (across + 1) + (cell % across)) * nClasses + (k % nClasses)]; });
  return { ...pair, table: pairTable(network, set, part), importance: strengthOf(part, shares, nClasses) };
}

// The pairs to draw, the strongest first: those of the network, and of the trees' as many as are wanted.
function pairsToDraw(network, most) {
  const { pairs } = network, shapes = treeShapes(network);
  const own = pairs.map((pair, number) => ({ ...pair, number })).filter(({ importance, removed }) => importance > 0 || removed);
  const known = new Set(own.flatMap(({ parent, child }) => [`${parent}.${child}`, `${child}.${parent}`]));
  const more = shapes ? shapes.pairs(most).filter((set) => !known.has(set.join("."))).map(([parent, child]) => ({ parent, child, number: -1 })) : [];
  return [...own, ...more].map((pair) => drawnPair(network, pair)).sort((a, b) => b.importance - a.importance || a.number - b.number);
}

// A set of three: a heat map of two for each of at most four groups of the states of the third, which has the fewest.
function inPanels(network, leaves, set, importance) {
  const { nodes } = network;
  const third = [...set].sort((a, b) => nodes[a].coarse.length - nodes[b].coarse.length || a - b)[0];
  const pair = set.filter((node) => node !== third);
  const { groups, names } = panelGroups(nodes[third]);
  const { part } = setPart(network, leaves, [third, ...pair], [groups, ...pair.map((node) => nodes[node].groups)]);
  const size = part.length / names.length;
  return { set, third, importance, panels: names.map((name, k) => ({ name, pair: { parent: pair[0], child: pair[1], only: { node: third, inside: groups.map((group) => group === k) }, table: pairTable(network, pair, part, k * size) } })) };
}

// States of an attribute in at most four groups: neighbours with about equally many rows, or the most frequent ones.
function panelGroups({ coarse, groups, density, kind, ordered, missing_state: missing, cuts, cut_labels: labels }) {
  const shares = new Float64Array(coarse.length);
  groups.forEach((group, s) => { shares[group] += density[s]; });
  if (coarse.length <= MOST_PANELS) return { groups, names: coarse };
  const last = coarse.length - (missing ? 1 : 0), few = MOST_PANELS - (missing ? 1 : 0);
  let of;
  if (kind === "numeric" || ordered) {
    let below = 0;
    const total = shares.slice(0, last).reduce((sum, share) => sum + share, 0) || 1;
    of = range(last).map((g) => { below += shares[g]; return Math.min(few - 1, Math.floor((few * (below - shares[g] / 2)) / total)); });
    const used = [...new Set(of)];
    of = of.map((group) => used.indexOf(group));
  } else {
    const frequent = range(last).sort((a, b) => shares[b] - shares[a] || a - b).slice(0, few - 1);
    of = range(last).map((g) => (frequent.includes(g) ? frequent.indexOf(g) : few - 1));
  }
  const n = 1 + Math.max(...of);
  if (missing) of.push(n);
  const members = (k) => range(of.length).filter((g) => of[g] === k);
  const edge = (s) => (labels ? labels[s] : short(cuts[s], 4));
  const name = (own) => {
    if (own.length === 1) return coarse[own[0]];
    if (kind !== "numeric") return ordered ? `${coarse[own[0]]} to ${coarse[own.at(-1)]}` : `${own.length} other states`;
    const low = groups.indexOf(own[0]) - 1, high = groups.lastIndexOf(own.at(-1));
    return low < 0 ? `< ${edge(high)}` : high >= cuts.length ? `≥ ${edge(low)}` : `${edge(low)} to ${edge(high)}`;
  };
  return { groups: groups.map((group) => of[group]), names: range(n + (missing ? 1 : 0)).map((k) => name(members(k))) };
}
