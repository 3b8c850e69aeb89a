// Unknown attributes drawn from what the known ones say, with the numbers and in the order of Python
// (`tanager.gaps.filler`), so that the draws are the same; P(class | known) is the mean over the draws.
//
// The filler is a tree: an attribute has the class and at most one attribute as parents. A cell of its tables stands at
// starts[node] + (class * states of the parent + state of the parent) * states + state.

function makeFiller({ order, parents, states, draws, numbers, classes, tables }) {
  const nClasses = classes.length;
  const nParent = parents.map((parent) => (parent < 0 ? 1 : states[parent]));
  const starts = [];
  states.reduce((start, n, node) => { starts.push(start); return start + nClasses * nParent[node] * n; }, 0);
  const row = (node, c, above) => starts[node] + (c * nParent[node] + above) * states[node];
  const drawn = (d, node) => numbers[d * (order.length + 1) + node];

  // The first state whose cumulative share exceeds the number.
  function invert(chances, number) {
    let total = 0;
    const cumulative = chances.map((chance) => (total += chance));
    let state = 0;
    for (let k = 0; k < cumulative.length - 1; k++) if (number * total >= cumulative[k]) state += 1;
    return state;
  }

  // From the leaves to the roots: P(known at and below a node | its state, class), and the weights of the classes.
  function collect(codes) {
    // Logarithms until a node is looked at: a product over its children would underflow.
    const likelihoods = states.map((n) => new Float64Array(nClasses * n));
    const logs = Float64Array.from(classes);
    for (const node of [...order].reverse()) {
      const own = likelihoods[node], n = states[node], above = nParent[node];
      if (codes[node] >= 0) own.forEach((_, k) => { if (k % n !== codes[node]) own[k] = -Infinity; });
      for (let c = 0; c < nClasses; c++) {
        const highest = Math.max(...own.subarray(c * n, (c + 1) * n));
        for (let s = 0; s < n; s++) own[c * n + s] = Math.exp(own[c * n + s] - highest);
        logs[c] += highest;
        for (let p = 0; p < above; p++) {
          const start = row(node, c, p);
          let message = 0;
          for (let s = 0; s < n; s++) message += own[c * n + s] * tables[start + s];
          if (parents[node] >= 0) likelihoods[parents[node]][c * above + p] += Math.log(message);
          else logs[c] += Math.log(message);
        }
      }
    }
    const most = Math.max(...logs);
    return { likelihoods, weights: logs.map((value) => Math.exp(value - most)) };
  }

  // A list of complete codes; `codes` holds the state of every attribute, -1 where it is unknown.
  function fill(codes) {
    const { likelihoods, weights } = collect(codes);
    return range(draws).map((d) => {
      const filled = codes.slice(0, order.length);
      const c = invert(weights, drawn(d, order.length));
      for (const node of order) {
        if (codes[node] >= 0) continue;
        const n = states[node], start = row(node, c, parents[node] < 0 ? 0 : filled[parents[node]]);
        const chances = Float64Array.from({ length: n }, (_, s) => tables[start + s] * likelihoods[node][c * n + s]);
        filled[node] = invert(chances, drawn(d, node));
      }
      return filled;
    });
  }

  return fill;
}

// P(class | known attributes): `complete` answers for complete codes, `coarsen` and `refine` translate a state of an
// attribute into one of the filler's and back.
function makeAverage(filler, target, complete, coarsen = (_, code) => code, refine = (_, code) => code) {
  const fill = makeFiller(filler);
  return function average(codes) {
    const known = codes.slice(0, target);
    if (known.every((code) => code >= 0)) return complete(known);
    const rows = fill(known.map((code, node) => (code < 0 ? -1 : coarsen(node, code))));
    const found = rows.map((row) => complete(row.map((code, node) => (known[node] >= 0 ? known[node] : refine(node, code)))));
    if (found.some((each) => !each)) return null;
    return found[0].map((_, c) => found.reduce((sum, each) => sum + each[c], 0) / found.length);
  };
}
