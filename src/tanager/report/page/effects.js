// An additive model: the log odds are sums of looked-up numbers, one for each attribute and one for each pair, and of
// what trees add.

// A row walks down every tree. What is expected of the tree changes at each split, and visit(attribute, class, change) is
// called; the changes add up to what the leaf adds.
function makeWalk({ roots, classes, attributes, ends, offsets, left, means }, own) {
  const mean = (end) => means[end >= 0 ? end : attributes.length + ~end];
  return function walk(codes, visit) {
    for (let tree = 0; tree < roots.length; tree++) {
      for (let at = roots[tree]; at >= 0;) {
        const next = ends[2 * at + left[offsets[at] + own(attributes[at], codes)]];
        visit(attributes[at], classes[tree], mean(next) - mean(at));
        at = next;
      }
    }
  };
}

function makeEffects(network, target, missingRule) {
  const { nodes, pairs, intercept } = network;
  const nClasses = intercept.length;
  const own = (node, codes) => (codes[node] < 0 ? nodes[node].states.length : codes[node]);
  const coarse = (node, codes) => (codes[node] < 0 ? nodes[node].coarse.length : nodes[node].groups[codes[node]]);
  // Where the numbers of an attribute, or of a pair, stand in its table.
  const mainCell = (node, codes) => own(node, codes) * nClasses;
  const pairCell = ({ parent, child }, codes) => (coarse(parent, codes) * (nodes[child].coarse.length + 1) + coarse(child, codes)) * nClasses;
  const walk = network.trees ? makeWalk(network.trees, own) : () => {};

  function lookUp(codes) {
    const logs = Float64Array.from(intercept);
    const add = (table, cell) => { for (let c = 0; c < nClasses; c++) logs[c] += table[cell + c]; };
    for (let node = 0; node < target; node++) add(nodes[node].main, mainCell(node, codes));
    for (const pair of pairs) add(pair.table, pairCell(pair, codes));
    return logs;
  }
  const addTrees = (codes, logs) => { walk(codes, (node, c, change) => { logs[c] += change; }); return logs; };
  const sums = (codes) => addTrees(codes, lookUp(codes));

  const expected = (codes) => normalize(sums(codes));
  const posterior = !missingRule.imputation ? expected
    : makeAverage(missingRule.imputation, expected, (node, code) => nodes[node].groups[code]);

  // Unknown attributes count with what is expected of them. What trees add is put down to the attributes they ask for.
  function contributions(codes, a, b) {
    const credits = new Float64Array(target);
    walk(codes, (node, c, change) => { credits[node] += (c === a) * change - (c === b) * change; });
    const part = (about, table, cell) => ({ ...about, value: table[cell + a] - table[cell + b], summed: [] });
    return [
      part({ node: target }, intercept, 0),
      ...range(target).map((node) => part({ node }, nodes[node].main, mainCell(node, codes))).map((each, node) => ({ ...each, value: each.value + credits[node] })),
      ...pairs.map((pair, k) => part({ node: pair.parent, other: pair.child, pair: k }, pair.table, pairCell(pair, codes))),
    ].filter(({ pair }) => !pairs[pair]?.removed)
      .filter(({ node, other, value }) => node === target || (codes[node] >= 0 && !(codes[other] < 0)) || Math.abs(value) > 1e-12).sort(byParts(target));
  }

  // Where a state of each of the two stands in the table of a pair.
  network.pairCell = ({ parent, child }, a, b) => (nodes[parent].groups[a] * (nodes[child].coarse.length + 1) + nodes[child].groups[b]) * nClasses;
  return { posterior, parts: { lookUp, addTrees, averages: Boolean(missingRule.imputation) }, contributions: !missingRule.imputation ? contributions : withRest(target, posterior, contributions) };
}
