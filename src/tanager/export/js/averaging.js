// P(class | known attributes) averaged over what the unknown ones may hold, as Python does it (`tanager.gaps`): over
// every completion where they are few, else over completions drawn with the same numbers. A completion m weighs
// F(m | known) exp(sum_c lambda_c P(c | known, m)). The mean is shifted by class.
//
// The filler F is a tree: an attribute has the class and at most one attribute as parents. A cell of its tables stands
// at starts[node] + (class * states of the parent + state of the parent) * states + state.

function makeFiller({ order, parents, ranks, states, draws, classes, tables }) {
  const nClasses = classes.length;
  const nParent = parents.map((parent) => (parent < 0 ? 1 : states[parent]));
  const starts = [];
  states.reduce((start, n, node) => { starts.push(start); return start + nClasses * nParent[node] * n; }, 0);
  const row = (node, c, above) => starts[node] + (c * nParent[node] + above) * states[node];
  const logTables = tables.map(Math.log);
  const above = (node, filled) => (parents[node] < 0 ? 0 : filled[parents[node]]);

  // Multiples of the root of a prime, less their whole parts: the first prime is the class's.
  const roots = firstPrimes(order.length + 1).map(Math.sqrt);
  const number = (draw, rank) => ((draw + 0.5) * roots[rank]) % 1;

  // The first state whose cumulative share exceeds the number.
  function invert(chances, share) {
    let total = 0;
    const cumulative = chances.map((chance) => (total += chance));
    let state = 0;
    for (let k = 0; k < cumulative.length - 1; k++) if (share * total >= cumulative[k]) state += 1;
    return state;
  }

  // From the leaves to the roots: P(known at and below a node | its state, class), and the weights of the classes.
  function collect(codes) {
    // Logarithms until a node is looked at: a product over its children would underflow.
    const likelihoods = states.map((n) => new Float64Array(nClasses * n));
    const logs = Float64Array.from(classes);
    for (const node of [...order].reverse()) {
      const own = likelihoods[node], n = states[node];
      if (codes[node] >= 0) own.forEach((_, k) => { if (k % n !== codes[node]) own[k] = -Infinity; });
      for (let c = 0; c < nClasses; c++) {
        const highest = Math.max(...own.subarray(c * n, (c + 1) * n));
        for (let s = 0; s < n; s++) own[c * n + s] = Math.exp(own[c * n + s] - highest);
        logs[c] += highest;
        for (let p = 0; p < nParent[node]; p++) {
          const start = row(node, c, p);
          let message = 0;
          for (let s = 0; s < n; s++) message += own[c * n + s] * tables[start + s];
          if (parents[node] >= 0) likelihoods[parents[node]][c * nParent[node] + p] += Math.log(message);
          else logs[c] += Math.log(message);
        }
      }
    }
    const most = Math.max(...logs);
    return { likelihoods, weights: logs.map((value) => Math.exp(value - most)) };
  }

  // Complete codes drawn, and log weights; `codes` holds the state of every attribute, -1 where it is unknown.
  function draw(codes) {
    const { likelihoods, weights } = collect(codes);
    const rows = range(draws).map((d) => {
      const filled = codes.slice();
      const c = invert(weights, number(d, 0));
      for (const node of order) {
        if (codes[node] >= 0) continue;
        const n = states[node], start = row(node, c, above(node, filled));
        const chances = Float64Array.from({ length: n }, (_, s) => tables[start + s] * likelihoods[node][c * n + s]);
        filled[node] = invert(chances, number(d, ranks[node] + 1));
      }
      return filled;
    });
    return { rows, logs: rows.map(() => 0) };
  }

  // Every completion, and the logarithm of its share but for a constant.
  function enumerate(codes) {
    let rows = [codes.slice()];
    for (const node of order) {
      if (codes[node] < 0) rows = rows.flatMap((filled) => range(states[node]).map((state) => filled.with(node, state)));
    }
    const logs = rows.map((filled) => {
      const joint = Array.from(classes, (log, c) => order.reduce((sum, node) => sum + logTables[row(node, c, above(node, filled)) + filled[node]], log));
      const most = Math.max(...joint);
      return most + Math.log(joint.reduce((sum, value) => sum + Math.exp(value - most), 0));
    });
    return { rows, logs };
  }

  return { draw, enumerate };
}

function firstPrimes(n) {
  const primes = [];
  for (let candidate = 2; primes.length < n; candidate++) {
    if (!primes.some((prime) => candidate % prime === 0)) primes.push(candidate);
  }
  return primes;
}

// `complete` answers for complete codes, `coarsen` translates a state of an attribute into one of the filler's; the
// corrections of all states, and one more that a missing cell would have, of all attributes follow those of nothing.
function makeAverage(filler, nodes, target, complete, coarsen = (_, code) => code) {
  const { states, middles, completions, corrections, shift, classes } = filler;
  const { draw, enumerate } = makeFiller(filler);
  const nClasses = classes.length;
  const starts = [];
  range(target).reduce((start, node) => { starts.push(start); return start + (nodes[node].states.length + 1) * nClasses; }, nClasses);

  function correction(known) {
    const present = range(target).filter((node) => known[node] >= 0);
    const total = (c) => present.reduce((sum, node) => sum + corrections[starts[node] + known[node] * nClasses + c], corrections[c]);
    return range(nClasses).map((c) => total(c) / (1 + present.length));
  }

  return function average(codes) {
    const known = codes.slice(0, target);
    if (known.every((code) => code >= 0)) return complete(known);
    const coarse = known.map((code, node) => (code < 0 ? -1 : coarsen(node, code)));
    const count = states.reduce((product, n, node) => product * (coarse[node] < 0 ? n : 1), 1);
    const { rows, logs } = (count <= completions ? enumerate : draw)(coarse);
    const found = rows.map((row) => complete(row.map((code, node) => (known[node] >= 0 ? known[node] : middles[node][code]))));
    if (found.some((each) => !each)) return null;
    const bent = correction(known);
    const weights = normalize(found.map((each, m) => logs[m] + each.reduce((sum, share, c) => sum + bent[c] * share, 0)));
    const fading = Math.max(0, 1 - known.filter((code) => code >= 0).length / 2);
    const shifted = range(nClasses).map((c) => Math.exp(fading * shift[c]) * found.reduce((sum, each, m) => sum + weights[m] * each[c], 0));
    const total = shifted.reduce((sum, share) => sum + share, 0);
    return shifted.map((share) => share / total);
  };
}
