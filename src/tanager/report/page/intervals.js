// Intervals of the rows on the page as `predict_interval` gives them, and how far each part may be off.

async function unpackIntervals(given, network) {
  if (!given) return null;
  const mains = await unpack(given.mains, Float32Array), pairs = await unpack(given.pairs, Float32Array);
  const { nodes } = network, nClasses = nodes.at(-1).states.length;
  let at = 0;
  const take = (from, size) => from.subarray(at, (at += size));
  const ofNodes = nodes.slice(0, -1).map(({ states }) => take(mains, states.length * nClasses));
  at = 0;
  (network.pairs ?? []).forEach((pair) => { pair.deviations = take(pairs, nodes[pair.parent].coarse.length * nodes[pair.child].coarse.length * nClasses); });
  return { ...given, ofNodes, ends: given.ends && await unpack(given.ends, Uint16Array) };
}

// `of` gives [lower, upper] of each class, or null where this page cannot say; `words` say what they are, or why there are none.
function makeIntervals(given, network, target, rows) {
  if (!given) return null;
  const { nodes } = network, nClasses = nodes[target].states.length, share = percent(given.level).replace(".0", "");
  const ends = (k) => range(nClasses).map((c) => range(2).map((end) => given.ends[(k * nClasses + c) * 2 + end] / 65535));

  function of(row) {
    if (network.edited) return null;
    const k = given.ends && rows ? rows.placeOf(row) : -1;
    return k >= 0 && rows.numbers[k] === row ? ends(k) : null;
  }

  function words(found) {
    if (found) return `The line across a bar is the ${share} interval of the probability.`;
    if (network.edited) return "A corrected model has no intervals until they are prepared again.";
    return "This page has intervals only for unchanged rows of the table. Use predict_interval for others.";
  }

  // Half of an interval of what a part adds to the log odds of a class against the others; 0 where it is not known.
  function margin(part, codes, c) {
    if (network.edited || part.rest || part.node === target || codes[part.node] < 0 || codes[part.other] < 0) return 0;
    if (part.pair === undefined) return given.reach * given.ofNodes[part.node][codes[part.node] * nClasses + c];
    const { parent, child, deviations: own } = network.pairs[part.pair];
    return given.reach * own[(nodes[parent].groups[codes[parent]] * nodes[child].coarse.length + nodes[child].groups[codes[child]]) * nClasses + c];
  }

  return { of, words, margin, level: given.level };
}
