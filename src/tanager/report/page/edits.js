// Corrections by hand of an additive model, as `tanager.edits` makes them: all of them anew from the model as it came.

const LEAST_SHARE = 1e-12; // what a state that no training row is in weighs in a mean

function makeEditor(network, target, missingRule) {
  const { nodes, pairs } = network;
  const nClasses = network.intercept.length;
  const imputation = missingRule.imputation && { ...missingRule.imputation };
  const whole = { mains: nodes.slice(0, target).map((node) => node.main), spreads: nodes.slice(0, target).map((node) => node.spread), tables: pairs.map((pair) => pair.table), trees: network.trees };

  function reset() {
    nodes.slice(0, target).forEach((node, k) => { node.main = whole.mains[k].slice(); node.spread = whole.spreads[k]?.slice(); });
    pairs.forEach((pair, k) => { pair.table = whole.tables[k]; pair.removed = false; });
    network.trees = whole.trees;
    if (imputation) missingRule.imputation = { ...imputation };
  }

  // The bins with a number in from <= x < to, or the states named; see `stretch` in `tanager.edits.edit`.
  function stretch(k, { from, to, states }) {
    const { cuts, missing_state: missing, kind } = nodes[k];
    if (states) return states.map((state) => nodes[k].states.indexOf(state));
    const last = nodes[k].states.length - (missing ? 2 : 1);
    if (kind !== "numeric") return range(last + 1);
    const first = from === undefined ? 0 : cuts.filter((cut) => cut <= from).length;
    const end = to === undefined ? last : cuts.filter((cut) => cut < to).length;
    return range(last + 1).filter((s) => s >= first && s <= end);
  }

  const weights = (k, states) => states.map((s) => Math.max(nodes[k].density[s], LEAST_SHARE));
  // What trees say of an attribute alone is part of its curve; its main effect makes up for both.
  const ofTrees = (k) => treeShapes(network)?.alone[k] ?? new Float64Array(nodes[k].states.length * nClasses);
  const forget = (k, states) => { if (nodes[k].spread) states.forEach((s) => nodes[k].spread.fill(0, s * nClasses, (s + 1) * nClasses)); };

  function flatten(k, edit) {
    const states = stretch(k, edit), w = weights(k, states), { main } = nodes[k], trees = ofTrees(k);
    const total = w.reduce((sum, share) => sum + share, 0);
    for (let c = 0; c < nClasses; c++) {
      const mean = states.reduce((sum, s, i) => sum + w[i] * (main[s * nClasses + c] + trees[s * nClasses + c]), 0) / total;
      states.forEach((s) => { main[s * nClasses + c] = mean - trees[s * nClasses + c]; });
    }
    forget(k, states);
  }

  function makeMonotone(k, edit) {
    const c = edit.of === undefined ? nClasses - 1 : nodes[target].states.indexOf(edit.of);
    const states = stretch(k, edit), { main } = nodes[k], trees = ofTrees(k), sign = edit.direction === "increasing" ? 1 : -1;
    const odds = states.map((s) => oddsAt(main, s, c, nClasses) + oddsAt(trees, s, c, nClasses));
    const nearest = isotonic(odds.map((value) => sign * value), weights(k, states));
    states.forEach((s, i) => {
      const added = sign * nearest[i] - odds[i];
      for (let d = 0; d < nClasses; d++) main[s * nClasses + d] -= added / nClasses;
      main[s * nClasses + c] += added;
    });
    forget(k, states.filter((_, i) => Math.abs(sign * nearest[i] - odds[i]) > 0));
  }

  // Neighbours that fall are pooled, until the means of the pools rise.
  function isotonic(values, w) {
    const pools = [];
    values.forEach((value, i) => {
      pools.push({ mean: value, weight: w[i], size: 1 });
      while (pools.length > 1 && pools.at(-2).mean > pools.at(-1).mean) {
        const { mean, weight, size } = pools.pop(), last = pools.at(-1);
        last.mean = (last.mean * last.weight + mean * weight) / (last.weight + weight);
        last.weight += weight;
        last.size += size;
      }
    });
    return pools.flatMap(({ mean, size }) => new Array(size).fill(mean));
  }

  function removePairs(gone) {
    pairs.filter(gone).forEach((pair) => { pair.table = new Float64Array(pair.table.length); pair.removed = true; });
  }

  function removeAttribute(k) {
    nodes[k].main.fill(0);
    forget(k, range(nodes[k].states.length));
    removePairs(({ parent, child }) => parent === k || child === k);
    if (network.trees) network.trees = withoutTrees(network.trees, k);
    if (missingRule.imputation) missingRule.imputation = withoutAttribute(missingRule.imputation, k);
  }

  // The trees that never ask for the attribute.
  function withoutTrees(trees, k) {
    const asks = (end) => end >= 0 && (trees.attributes[end] === k || asks(trees.ends[2 * end]) || asks(trees.ends[2 * end + 1]));
    const kept = range(trees.roots.length).filter((tree) => !asks(trees.roots[tree]));
    return kept.length ? { ...trees, roots: kept.map((tree) => trees.roots[tree]), classes: kept.map((tree) => trees.classes[tree]) } : null;
  }

  // As `Imputation.without_attribute`: any state is as likely in every component, and corrects nothing.
  function withoutAttribute(given, k) {
    const logs = given.logs.slice(), corrections = given.corrections.slice(), nComponents = given.shares.length;
    const before = (sizes) => range(k).reduce((sum, node) => sum + sizes[node], 0);
    logs.fill(0, before(given.states) * nComponents, (before(given.states) + given.states[k]) * nComponents);
    const start = (before(given.codes) + k) * nClasses;
    corrections.fill(0, start, start + (given.codes[k] + 1) * nClasses);
    return { ...given, logs, corrections, used: given.used.map((own, node) => own && node !== k) };
  }

  function apply(edit) {
    const [k, partner] = edit.attributes.map((name) => nodes.findIndex((node) => node.name === name));
    if (edit.what === "flatten") flatten(k, edit);
    else if (edit.what === "monotone") makeMonotone(k, edit);
    else if (partner === undefined) removeAttribute(k);
    else removePairs(({ parent, child }) => (parent === k && child === partner) || (parent === partner && child === k));
  }

  return { applyAll: (edits) => { reset(); edits.forEach(apply); network.edited = edits.length > 0; }, stretch };
}

// How good P(class | row) is on some rows; the classes of all are known.
function makeMeasure() {
  let n = 0, right = 0, loss = 0, brier = 0;
  return {
    add(proba, truth) {
      n += 1;
      right += proba.indexOf(Math.max(...proba)) === truth;
      loss -= Math.log(Math.max(proba[truth], 1e-15));
      brier += proba.reduce((sum, p, c) => sum + (p - (c === truth)) ** 2, 0);
    },
    result: () => ({ rows: n, accuracy: right / n, "log-loss": loss / n, "Brier score": brier / n }),
  };
}
