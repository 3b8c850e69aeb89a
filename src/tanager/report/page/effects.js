// A network of effects: the log odds are sums of looked-up numbers, one for each attribute and one for each pair.

function makeEffects(network, target, gaps) {
  const { nodes, pairs, intercept } = network;
  const nClasses = intercept.length;
  const own = (node, codes) => (codes[node] < 0 ? nodes[node].states.length : codes[node]);
  const coarse = (node, codes) => (codes[node] < 0 ? nodes[node].coarse.length : nodes[node].groups[codes[node]]);
  // Where the numbers of an attribute, or of a pair, stand in its table.
  const mainCell = (node, codes) => own(node, codes) * nClasses;
  const pairCell = ({ parent, child }, codes) => (coarse(parent, codes) * (nodes[child].coarse.length + 1) + coarse(child, codes)) * nClasses;

  function sums(codes) {
    const logs = Float64Array.from(intercept);
    const add = (table, cell) => { for (let c = 0; c < nClasses; c++) logs[c] += table[cell + c]; };
    for (let node = 0; node < target; node++) add(nodes[node].main, mainCell(node, codes));
    for (const pair of pairs) add(pair.table, pairCell(pair, codes));
    return logs;
  }

  const expected = (codes) => normalize(sums(codes));
  const posterior = !gaps.filler ? expected
    : makeAverage(gaps.filler, nodes, target, expected, (node, code) => nodes[node].groups[code]);

  // Unknown attributes count with what is expected of them.
  function contributions(codes, a, b) {
    const part = (about, table, cell) => ({ ...about, value: table[cell + a] - table[cell + b], summed: [] });
    return [
      part({ node: target }, intercept, 0),
      ...range(target).map((node) => part({ node }, nodes[node].main, mainCell(node, codes))),
      ...pairs.map((pair, k) => part({ node: pair.parent, other: pair.child, pair: k }, pair.table, pairCell(pair, codes))),
    ].filter(({ node, other, value }) => node === target || (codes[node] >= 0 && !(codes[other] < 0)) || Math.abs(value) > 1e-12).sort(byParts(target));
  }

  return { posterior, contributions: !gaps.filler ? contributions : withRest(target, posterior, contributions) };
}
