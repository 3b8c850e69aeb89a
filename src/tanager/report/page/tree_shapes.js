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
        const inside = Uint8Array.from(density, (_, s) => left[offsets[at] + s] === side && (!before || before.inside[s]));
        const share = density.reduce((sum, chance, s) => sum + chance * inside[s], 0);
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

// Of each group of an attribute's states the share of the training rows in it, and of these the share inside.
function groupShares({ density }, groups, nGroups) {
  const totals = new Float64Array(nGroups), counts = new Float64Array(nGroups);
  groups.forEach((group, s) => { totals[group] += density[s]; counts[group] += 1; });
  return { totals, weight: (s) => (totals[groups[s]] > 0 ? density[s] / totals[groups[s]] : 1 / counts[groups[s]]) };
}

// The part of a set: (groups of the first, ..., of the last, classes), each attribute's states in the groups given.
function setPart({ nodes, intercept: { length: nClasses } }, leaves, set, groupings) {
  const sizes = groupings.map((groups) => 1 + Math.max(...groups));
  const within = set.map((node, k) => groupShares(nodes[node], groupings[k], sizes[k]));
  const part = new Float64Array(sizes.reduce((product, n) => product * n, nClasses));
  for (const { c, value, way } of leaves) {
    const chosen = set.map((node) => way.find((each) => each.node === node));
    if (chosen.includes(undefined)) continue;
    const factors = chosen.map(({ inside, share }, k) => {
      const factor = new Float64Array(sizes[k]).fill(-share);
      groupings[k].forEach((group, s) => { if (inside[s]) factor[group] += within[k].weight(s); });
      return factor;
    });
    const add = (level, start, scale) => {
      const factor = factors[level], first = start * factor.length;
      if (level < factors.length - 1) factor.forEach((each, group) => add(level + 1, first + group, scale * each));
      else for (let group = 0; group < factor.length; group++) part[(first + group) * nClasses + c] += scale * factor[group];
    };
    add(0, 0, value * restOf(way, chosen));
  }
  return { part, shares: within.map(({ totals }) => totals) };
}

// The root mean square of the log odds of a class against the others, as `tanager.network.effect_strength`.
function strengthOf(part, shares, nClasses) {
  const chances = shares.reduce((cells, own) => cells.flatMap((cell) => Array.from(own, (each) => cell * each)), [1]);
  const squares = chances.reduce((sum, chance, k) => sum + chance * range(nClasses).reduce((all, c) => all + oddsAt(part, k, c, nClasses) ** 2, 0), 0);
  return Math.sqrt(squares / nClasses);
}

// The strongest sets of a size, of those with the highest bounds; three attributes have at most four groups of states each.
function strongestSets(network, leavesOfSet, leaves, size, most) {
  const nClasses = network.intercept.length, found = [];
  for (const { set, bound } of boundsOf(leaves, size, network.nodes.length)) {
    if (found.length >= most && found[most - 1].importance >= bound) break;
    const groups = set.map((node) => (size === 2 ? network.nodes[node].groups : panelGroups(network.nodes[node]).groups));
    const { part, shares } = setPart(network, leavesOfSet(set), set, groups);
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
  const leaves = leavesOf(network, trees), ofNode = new Map();
  leaves.forEach((leaf) => leaf.way.forEach(({ node }) => { if (ofNode.has(node)) ofNode.get(node).push(leaf); else ofNode.set(node, [leaf]); }));
  const leavesOfSet = (set) => set.map((node) => ofNode.get(node) ?? []).sort((a, b) => a.length - b.length)[0];
  const known = new Map();
  let pairs = null, triples = null;
  const pair = (set) => setPart(network, leavesOfSet(set), set, set.map((node) => network.nodes[node].groups));
  network.treeShapes = {
    trees,
    alone: aloneParts(network, leaves),
    pairs: (most) => (pairs ??= strongestSets(network, leavesOfSet, leaves, 2, most).map(({ set }) => set)),
    pair: (set) => { if (!known.has(set.join())) known.set(set.join(), pair(set)); return known.get(set.join()); },
    triples: (most) => (triples ??= strongestSets(network, leavesOfSet, leaves, 3, most).map(({ set, importance }) => inPanels(network, leavesOfSet(set), set, importance))),
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
function panelGroups({ coarse, groups, density, kind, ordered, gap, cuts, cut_labels: labels }) {
  const shares = new Float64Array(coarse.length);
  groups.forEach((group, s) => { shares[group] += density[s]; });
  if (coarse.length <= MOST_PANELS) return { groups, names: coarse };
  const last = coarse.length - (gap ? 1 : 0), few = MOST_PANELS - (gap ? 1 : 0);
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
  if (gap) of.push(n);
  const members = (k) => range(of.length).filter((g) => of[g] === k);
  const edge = (s) => (labels ? labels[s] : short(cuts[s], 4));
  const name = (own) => {
    if (own.length === 1) return coarse[own[0]];
    if (kind !== "numeric") return ordered ? `${coarse[own[0]]} to ${coarse[own.at(-1)]}` : `${own.length} other states`;
    const low = groups.indexOf(own[0]) - 1, high = groups.lastIndexOf(own.at(-1));
    return low < 0 ? `< ${edge(high)}` : high >= cuts.length ? `≥ ${edge(low)}` : `${edge(low)} to ${edge(high)}`;
  };
  return { groups: groups.map((group) => of[group]), names: range(n + (gap ? 1 : 0)).map((k) => name(members(k))) };
}
