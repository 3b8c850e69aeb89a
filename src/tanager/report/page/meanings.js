// What an unknown attribute means to a network of tables. Each meaning gives the same two functions:
// posterior(codes), P(class | known attributes), null where the known ones have probability zero; and
// contributions(codes, a, b), parts {node, value, summed} that add up to the log odds of class a against b.

const byParts = (target) => {
  const first = (part) => (part.node === target ? 0 : 1);
  return (p, q) => first(p) - first(q) || Math.abs(q.value) - Math.abs(p.value) || p.node - q.node;
};

// The term of each family whose attributes are all known, one number for each class; undefined for the others.
function makeLookup(nodes, target) {
  const nClasses = nodes[target].states.length;
  const families = nodes.map((node, child) => {
    const members = [...node.parents, child];
    const strides = new Array(members.length).fill(1);
    for (let k = members.length - 2; k >= 0; k--) strides[k] = strides[k + 1] * nodes[members[k + 1]].states.length;
    const of = members.indexOf(target);
    return {
      attributes: members.filter((member) => member !== target),
      strides: strides.filter((_, k) => k !== of),
      step: of < 0 ? 0 : strides[of],
    };
  });
  return function term(child, codes) {
    const { attributes, strides, step } = families[child];
    let cell = 0;
    for (let k = 0; k < attributes.length; k++) {
      if (codes[attributes[k]] < 0) return undefined;
      cell += codes[attributes[k]] * strides[k];
    }
    return Float64Array.from({ length: nClasses }, (_, c) => nodes[child].logs[cell + c * step]);
  };
}

function sumTerms(nodes, target, term) {
  return function posterior(codes) {
    const logs = new Float64Array(nodes[target].states.length);
    nodes.forEach((_, child) => term(child, codes).forEach((value, c) => { logs[c] += value; }));
    return normalize(logs);
  };
}

function makeSumming(network, target) {
  const inference = makeInference(network.nodes, target);
  return { posterior: inference.posterior, contributions: makeExplainer(network.nodes, network.order, target, inference).contributions };
}

// A family with an unknown attribute adds its mean instead.
function makeSkipping(network, target, missingRule) {
  const { nodes } = network;
  const nClasses = nodes[target].states.length;
  const lookup = makeLookup(nodes, target);
  const term = (child, codes) => lookup(child, codes) ?? missingRule.means.subarray(child * nClasses, (child + 1) * nClasses);
  const contributions = (codes, a, b) => nodes.map((_, node) => {
    const logs = term(node, codes);
    return { node, value: logs[a] - logs[b], summed: [] };
  }).filter((part) => part.node === target || codes[part.node] >= 0 || Math.abs(part.value) > 1e-12).sort(byParts(target));
  return { posterior: sumTerms(nodes, target, term), contributions };
}

// The parts are those of skipping; what averaging makes of the unknown attributes beyond them is one part more.
function makeAveraging(network, target, missingRule) {
  const skipping = makeSkipping(network, target, missingRule);
  const posterior = makeAverage(missingRule.imputation, skipping.posterior);
  return { posterior, contributions: withRest(target, posterior, skipping.contributions) };
}

function withRest(target, posterior, contributions) {
  return function withWhatIsMissing(codes, a, b) {
    const parts = contributions(codes, a, b);
    const summed = parts.reduce((sum, part) => sum + part.value, 0);
    // Odds that a known attribute makes infinite are so whatever the others are.
    if (range(target).every((node) => codes[node] >= 0) || !Number.isFinite(summed)) return parts;
    const proba = posterior(codes);
    return [...parts, { node: -1, rest: true, value: Math.log(proba[a]) - Math.log(proba[b]) - summed, summed: [] }];
  };
}

const MEANINGS = { "summed out": makeSumming, "left out": makeSkipping, "averaged over": makeAveraging };

// The part of the class is the base rate, the log odds of the training rows, and the baseline: what the model has besides.
function withBaseRate(target, logRates, contributions) {
  return (codes, a, b) => contributions(codes, a, b).flatMap((part) => {
    if (part.node !== target) return [part];
    const base = { node: target, base: true, value: logRates[a] - logRates[b], summed: [] };
    return [base, { ...part, value: part.value - base.value }];
  });
}

// `renew` takes in what was changed in the network by hand.
function makeModel(network, target, missingRule, base) {
  const make = () => (network.kind === "effects" ? makeEffects : MEANINGS[missingRule.meaning])(network, target, missingRule);
  let now = make();
  return {
    posterior: (codes) => now.posterior(codes),
    contributions: withBaseRate(target, base.log_rates, (codes, a, b) => now.contributions(codes, a, b)),
    renew: () => { now = make(); },
    parts: () => now.parts ?? null,
  };
}
