// Intervals for any evidence, by the kind of posterior: each gives a function of (codes, proba), [lower, upper] of each class.

const logOdds = (proba) => proba.map((p, c) => Math.log(p) - Math.log(proba.reduce((sum, other, k) => (k === c ? sum : sum + other), 0)));
const around = (odds, deviations, reach) => odds.map((x, c) => [-1, 1].map((side) => expit(x + side * reach * deviations[c])));
const expit = (x) => 1 / (1 + Math.exp(-x));

async function makePosterior(given, network, target, missingRule, posterior) {
  if (!given.posterior) return null;
  const make = { reference: makeReference, dirichlet: makeDirichlet }[given.method];
  return make(given.posterior, network, target, missingRule, given.reach, { posterior, nTraining: given.training });
}

// The n-th derivative of the digamma function, n up to 3: up to a large argument, then by its expansion there.
function polygamma(n, x) {
  let found = 0;
  const sign = n % 2 ? 1 : -1, factorial = [1, 1, 2, 6][n];
  while (x < 12) { found += sign * factorial / x ** (n + 1); x += 1; }
  const numbers = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730];
  if (n === 0) return found + Math.log(x) - 0.5 / x - numbers.reduce((sum, b, k) => sum + b / (2 * (k + 1) * x ** (2 * (k + 1))), 0);
  let rising = factorial / n / x ** n + (factorial / 2) / x ** (n + 1);
  numbers.forEach((b, k) => {
    const power = 2 * (k + 1);
    let product = 1; // (power + n - 1)! / power!
    for (let j = power + 1; j < power + n; j++) product *= j;
    rising += (b * product) / x ** (power + n);
  });
  return found + sign * rising;
}

// As `tanager.posterior.dirichlet`: cumulants of the log odds, to first order in the logarithms of the tables.
async function makeDirichlet(given, network, target, missingRule, reach) {
  const { nodes } = network, nClasses = nodes[target].states.length;
  const rows = await unpack(given.rows, Float64Array);
  const inference = makeInference(nodes, target);
  const starts = [];
  nodes.reduce((start, node) => { starts.push(start); return start + node.logs.length; }, 0);

  // Nodes that something known depends on, or the class.
  function asked(codes) {
    const found = new Set(), waiting = range(nodes.length).filter((node) => node === target || codes[node] >= 0);
    while (waiting.length) {
      const node = waiting.pop();
      if (!found.has(node)) { found.add(node); waiting.push(...nodes[node].parents); }
    }
    return [...found];
  }

  // The lines of the tables that are asked for: how often each of their entries is, by class.
  function gradients(codes) {
    const lines = new Map();
    for (const child of asked(codes)) {
      const members = [...nodes[child].parents, child], width = nodes[child].states.length;
      const open = members.filter((node) => node !== target && codes[node] < 0), sizes = open.map((node) => nodes[node].states.length);
      const logs = inference.joint(codes, open), perClass = logs.length / nClasses;
      for (let c = 0; c < nClasses; c++) {
        const shares = normalize(logs.subarray(c * perClass, (c + 1) * perClass)) ?? [];
        shares.forEach((share, combination) => {
          const filled = new Map([[target, c]]);
          for (let k = open.length - 1, left = combination; k >= 0; k--) { filled.set(open[k], left % sizes[k]); left = Math.floor(left / sizes[k]); }
          const cell = members.reduce((sum, node) => sum * nodes[node].states.length + (filled.get(node) ?? codes[node]), 0);
          const line = lineOf(child, cell - (cell % width), width);
          if (!lines.has(line)) lines.set(line, { own: line, of: range(nClasses).map(() => new Float64Array(width)) });
          lines.get(line).of[c][cell % width] += share;
        });
      }
    }
    return [...lines.values()];
  }

  const known = new Map();
  function lineOf(child, first, width) {
    const key = starts[child] + first;
    if (!known.has(key)) {
      const entries = rows.subarray(key, key + width), total = entries.reduce((sum, value) => sum + value, 0);
      const psi = range(4).map((n) => Array.from(entries, (value) => polygamma(n, value))), psiTotal = range(4).map((n) => polygamma(n, total));
      const moved = psi[0].map((value, k) => value - psiTotal[0] - nodes[child].logs[first + k]);
      known.set(key, { psi, psiTotal, moved, total });
    }
    return known.get(key);
  }

  const cumulant = (n, lines, weights) => lines.reduce((sum, { own, of }) => {
    const h = of[0].map((_, k) => weights.reduce((part, weight, c) => part + weight * of[c][k], 0));
    const all = h.reduce((part, value) => part + value, 0);
    return sum + h.reduce((part, value, k) => part + value ** n * own.psi[n - 1][k], 0) - all ** n * own.psiTotal[n - 1];
  }, 0);

  const shift = (lines, c) => lines.reduce((sum, { own, of }) => {
    let moved = 0, squares = 0, all = 0;
    of[c].forEach((value, k) => { moved += value * value * own.moved[k]; squares += value * value; all += value; });
    return sum + moved - (0.5 * (squares - all * all)) / (own.total + 1);
  }, 0);

  // Standardised quantiles from cumulants (Cornish and Fisher 1938).
  function quantile(z, second, third, fourth) {
    const skewness = third / second ** 1.5, kurtosis = fourth / second ** 2;
    return z + ((z ** 2 - 1) * skewness) / 6 + ((z ** 3 - 3 * z) * kurtosis) / 24 - ((2 * z ** 3 - 5 * z) * skewness ** 2) / 36;
  }

  return function ends(codes) {
    const lines = gradients(codes), logs = inference.joint(codes);
    const means = Array.from(logs, (log, c) => log + shift(lines, c));
    const one = (c) => range(nClasses).map((k) => Number(k === c));
    const seconds = range(nClasses).map((c) => cumulant(2, lines, one(c)));
    return range(nClasses).map((c) => {
      const others = normalize(means.map((mean, k) => (k === c ? -Infinity : mean)));
      const top = Math.max(...means.filter((_, k) => k !== c));
      const rest = top + Math.log(means.reduce((sum, mean, k) => (k === c ? sum : sum + Math.exp(mean - top)), 0));
      const bend = 0.5 * (others.reduce((sum, share, k) => sum + share * seconds[k], 0) - cumulant(2, lines, others));
      const weights = others.map((share, k) => (k === c ? 1 : -share));
      const [second, third, fourth] = [2, 3, 4].map((n) => cumulant(n, lines, weights));
      const spread = Math.max(second, 1e-12), mean = means[c] - rest - bend;
      const odds = [-reach, 0, reach].map((z) => mean + Math.sqrt(spread) * quantile(z, spread, third, fourth));
      return [Math.min(...odds), Math.max(...odds)].map(expit);
    });
  };
}
