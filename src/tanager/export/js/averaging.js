// P(class | known attributes) averaged over draws of what the unknown ones may hold, as `tanager.missing.average` does it.

// Rows completed with draws. Component k weighs exp(shares[k] + the sum of its logs of the known states), and has as many
// of the draws as it weighs. `codes` are -1 where an attribute is unknown; `coarsen` gives the coarse state of a code.
function makeCompletions({ states, draws, shares, logs, completions }, coarsen) {
  const nComponents = shares.length, starts = [];
  states.reduce((start, n) => { starts.push(start); return start + n * nComponents; }, 0);
  return function complete(codes) {
    const sums = Float64Array.from(shares);
    codes.forEach((code, node) => {
      if (code < 0) return;
      const start = starts[node] + coarsen(node, code) * nComponents;
      for (let k = 0; k < nComponents; k++) sums[k] += logs[start + k];
    });
    const rows = [];
    let reached = 0;
    normalize(sums).forEach((weight, k) => {
      reached += weight;
      const end = k === nComponents - 1 ? draws : Math.floor(reached * draws + 0.5 - 1e-9);
      while (rows.length < end) {
        const first = (k * draws + rows.length) * states.length;
        rows.push(codes.map((code, node) => (code < 0 ? completions[first + node] : code)));
      }
    });
    return rows;
  };
}

// `answer` gives P(class | complete codes).
function makeAverage(imputation, answer, coarsen = (_, code) => code) {
  const { codes: sizes, used, nothing, corrections } = imputation;
  const complete = makeCompletions(imputation, coarsen), nClasses = nothing.length, starts = [];
  sizes.reduce((start, n) => { starts.push(start); return start + (n + 1) * nClasses; }, 0);

  function correction(codes, c) {
    const asked = range(codes.length).filter((node) => used[node]), known = asked.filter((node) => codes[node] >= 0);
    if (known.length === 0) return nothing[c];
    const total = known.reduce((sum, node) => sum + corrections[starts[node] + codes[node] * nClasses + c], 0);
    return total / known.length * (asked.length - known.length) / Math.max(asked.length - 1, 1);
  }

  return function average(row) {
    const codes = Array.from(row).slice(0, sizes.length);
    if (codes.every((code) => code >= 0)) return answer(codes);
    const found = complete(codes).map(answer);
    if (found.some((each) => !each)) return null;
    return normalize(range(nClasses).map((c) => correction(codes, c) + Math.log(found.reduce((sum, each) => sum + each[c], 0) / found.length)));
  };
}
