// The reference posterior: a model that leaves nothing out, compared with this one; as `tanager.uncertainty.reference`.

async function unpackFeatures(given, nodes) {
  const cells = await unpack(given.cells, Float64Array);
  let start = 0;
  const tables = (which) => given.attributes.map((node, k) => {
    const width = given.widths[k][which], size = width * ((nodes[node].coarse ?? nodes[node].states).length + 1);
    return { width, cells: cells.subarray(start, (start += size)) };
  });
  const numbers = {};
  for (const key of ["means", "scales", "mean", "steps"]) numbers[key] = await unpack(given[key], Float64Array);
  return { ...given, ...numbers, mains: tables(0), paired: tables(1), left: await unpack(given.left, Uint8Array), factor: await unpack(given.factor, Int16Array) };
}

// The features of coarse codes, a missing one being the number of states: attributes, products of two, leaves of trees; see `tanager.uncertainty.reference`.
function makeFeatures({ attributes, pairs, splits, codes: wide, left, mains, paired, means, scales }) {
  const place = new Map(attributes.map((node, k) => [node, k]));
  const line = ({ width, cells }, code) => cells.subarray(code * width, (code + 1) * width);
  return function features(coarse) {
    const found = new Float64Array(means.length + 1);
    let at = 0;
    attributes.forEach((node, k) => { for (const value of line(mains[k], coarse[node])) found[at++] = value; });
    for (const [one, other] of pairs) {
      const second = line(paired[place.get(other)], coarse[other]);
      for (const value of line(paired[place.get(one)], coarse[one])) for (const factor of second) found[at++] = value * factor;
    }
    splits.forEach((asked, tree) => {
      const inner = asked.length;
      let split = 0;
      while (split < inner) split = 2 * split + 2 - left[(tree * inner + split) * wide + coarse[asked[split]]];
      found[at + split - inner] = 1;
      at += inner + 1;
    });
    for (let k = 0; k < means.length; k++) found[k] = (found[k] - means[k]) * scales[k];
    found[means.length] = 1;
    return found;
  };
}

// The root of the mean square by which the log odds of each class may be off; as `tanager.uncertainty.reference`.
async function makeReference(packed, network, target, missingRule, reach, { posterior, nTraining }) {
  const { nodes } = network, given = await unpackFeatures(packed, nodes);
  const { mean, factor, steps, rank } = given, size = given.means.length + 1, nOdds = mean.length / size;
  const features = makeFeatures(given);
  const coarseOf = (node, code) => (code < 0 ? (nodes[node].coarse ?? nodes[node].states).length : nodes[node].groups ? nodes[node].groups[code] : code);
  const complete = missingRule.imputation && makeCompletions(missingRule.imputation, coarseOf);
  const times = (own, k) => { let sum = 0; for (let f = 0; f < size; f++) sum += own[f] * mean[k * size + f]; return sum; };

  function spread(own, k) {
    const total = new Float64Array(rank);
    for (let f = 0; f < size; f++) {
      const scale = own[f] * steps[k * size + f], start = (k * size + f) * rank;
      if (scale) for (let r = 0; r < rank; r++) total[r] += scale * factor[start + r];
    }
    return total.reduce((sum, value) => sum + value * value, 0);
  }

  // Missing cells that are averaged over: P is the mean over completions, and its slopes are the means of theirs.
  function averaged(rows, k) {
    const slopes = new Float64Array(size);
    let average = 0;
    rows.forEach((own) => {
      const p = 1 / (1 + Math.exp(-times(own, k)));
      average += p / rows.length;
      for (let f = 0; f < size; f++) slopes[f] += (p * (1 - p) * own[f]) / rows.length;
    });
    const bend = Math.max(average * (1 - average), 1e-12);
    return { slopes: slopes.map((value) => value / bend), odds: Math.log(average) - Math.log1p(-average) };
  }

  // The log odds of the reference model less this model's, of a row without a known cell.
  let ofNothing = null;
  function differenceOfNothing(k) {
    if (!ofNothing) {
      const nothing = new Array(target).fill(-1), odds = logOdds(Array.from(posterior([...nothing, -1])));
      const rows = complete(nothing).map((row) => features(row.map((code, node) => coarseOf(node, code))));
      ofNothing = range(nOdds).map((k) => averaged(rows, k).odds - odds[nOdds === 1 ? 1 : k]);
    }
    return ofNothing[k];
  }

  function deviations(codes, odds) {
    const known = codes.slice(0, target), unknown = known.filter((code) => code < 0).length / target, coarse = known.map((code, node) => coarseOf(node, code));
    const rows = complete && unknown ? complete(known).map((row) => features(row.map((code, node) => coarseOf(node, code)))) : null;
    const plain = rows ? null : features(coarse);
    const found = range(nOdds).map((k) => {
      const at = rows ? averaged(rows, k) : { slopes: plain, odds: times(plain, k) };
      const p = expit(odds[nOdds === 1 ? 1 : k]), least = rows ? unknown ** 2 / Math.max(nTraining * p * (1 - p), 1e-12) : 0;
      return Math.sqrt(Math.max(spread(at.slopes, k), least) + (at.odds - odds[nOdds === 1 ? 1 : k] - (rows ? unknown * differenceOfNothing(k) : 0)) ** 2);
    });
    return nOdds === 1 ? [found[0], found[0]] : found;
  }

  return function ends(codes, proba) {
    const odds = logOdds(proba);
    return around(odds, deviations(codes, odds), reach);
  };
}
