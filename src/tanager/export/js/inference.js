// Exact inference: the missing attributes are summed out of the product of the tables, in logarithms throughout.
//
// A factor is a function of the nodes in `scope`, as logarithms in a flat array, the last node changing fastest.
// `children` are the nodes whose tables went into it, `summed` the missing nodes already summed out of it.

const MAX_TABLE_CELLS = 4_000_000;

function makeInference(nodes, target) {
  const families = nodes.map((node, child) => [...node.parents, child]);
  const nClasses = nodes[target].states.length;
  const size = (node) => nodes[node].states.length;

  // Strides of the digits of a cell's position, the last one changing fastest.
  function strides(scope) {
    const steps = new Array(scope.length).fill(1);
    for (let k = scope.length - 2; k >= 0; k--) steps[k] = steps[k + 1] * size(scope[k + 1]);
    return steps;
  }

  // Position in another array of every cell over `scope`, one step per node.
  function positions(scope, steps, base) {
    let result = Int32Array.of(base);
    scope.forEach((node, k) => {
      const n = size(node);
      const next = new Int32Array(result.length * n);
      for (let i = 0; i < result.length; i++) for (let s = 0; s < n; s++) next[i * n + s] = result[i] + s * steps[k];
      result = next;
    });
    return result;
  }

  // Those of the children that something observed depends on, or the class: the others sum to one.
  function relevantNodes(codes, children) {
    const waiting = new Set(children);
    const relevant = [];
    const stack = children.filter((node) => node === target || codes[node] >= 0);
    while (stack.length) {
      const node = stack.pop();
      if (!waiting.delete(node)) continue;
      relevant.push(node);
      stack.push(...nodes[node].parents);
    }
    return relevant.sort((i, j) => i - j);
  }

  // The table of a node with the observed members of its family looked up.
  function familyFactor(child, codes) {
    const family = families[child];
    const steps = strides(family);
    const open = (node) => node === target || codes[node] < 0;
    let base = 0;
    family.forEach((node, k) => { if (!open(node)) base += codes[node] * steps[k]; });
    const scope = family.filter(open);
    const kept = steps.filter((_, k) => open(family[k]));
    const values = Float64Array.from(positions(scope, kept, base), (cell) => nodes[child].logs[cell]);
    return { scope, values, children: [child], summed: [] };
  }

  function product(factors, scope) {
    const cells = scope.reduce((n, node) => n * size(node), 1);
    if (cells > MAX_TABLE_CELLS) throw new RangeError("too many unknown attributes depend on each other");
    const values = new Float64Array(cells);
    for (const factor of factors) {
      const own = strides(factor.scope);
      const steps = scope.map((node) => { const k = factor.scope.indexOf(node); return k < 0 ? 0 : own[k]; });
      positions(scope, steps, 0).forEach((cell, i) => { values[i] += factor.values[cell]; });
    }
    return values;
  }

  function logSum(values, first, count) {
    let highest = -Infinity;
    for (let k = 0; k < count; k++) highest = Math.max(highest, values[first + k]);
    if (highest === -Infinity) return -Infinity;
    let total = 0;
    for (let k = 0; k < count; k++) total += Math.exp(values[first + k] - highest);
    return highest + Math.log(total);
  }

  function sumOut(factors, node) {
    const scope = [...new Set(factors.flatMap((factor) => factor.scope))].filter((other) => other !== node);
    const values = product(factors, [...scope, node]);
    const n = size(node);
    return {
      scope,
      values: Float64Array.from({ length: values.length / n }, (_, i) => logSum(values, i * n, n)),
      children: factors.flatMap((factor) => factor.children),
      summed: [...factors.flatMap((factor) => factor.summed), node],
    };
  }

  // Sum nodes out, the one with the smallest table first.
  function eliminate(factors, missing) {
    const holding = new Map(missing.map((node) => [node, new Set()]));
    const finished = [];
    const place = (factor) => {
      const open = factor.scope.filter((node) => holding.has(node));
      if (open.length) open.forEach((node) => holding.get(node).add(factor));
      else finished.push(factor);
    };
    factors.forEach(place);
    const neighbours = (node) => new Set([...holding.get(node)].flatMap((factor) => factor.scope));
    const cost = (node) => [...neighbours(node)].reduce((cells, other) => cells * size(other), 1);
    const costs = new Map(missing.map((node) => [node, cost(node)]));
    while (costs.size) {
      const node = [...costs].reduce((best, entry) => (entry[1] < best[1] ? entry : best))[0];
      const own = [...holding.get(node)];
      own.forEach((factor) => factor.scope.forEach((other) => holding.get(other)?.delete(factor)));
      costs.delete(node);
      const message = sumOut(own, node);
      place(message);
      message.scope.forEach((other) => holding.has(other) && costs.set(other, cost(other)));
    }
    return finished;
  }

  // log P(class, evidence) as a sum of terms: one for each family without gaps, one for each set of families joined
  // by gaps. `codes` holds the state of every node, -1 where it is unknown; the class is never known. With `children`
  // only the tables of these nodes are multiplied.
  function terms(codes, children = nodes.map((_, node) => node)) {
    const used = relevantNodes(codes, children);
    const missing = used.filter((node) => node !== target && codes[node] < 0);
    return eliminate(used.map((node) => familyFactor(node, codes)), missing).map((factor) => ({
      children: factor.children,
      summed: factor.summed,
      logs: Float64Array.from({ length: nClasses }, (_, c) => factor.values[factor.scope.length ? c : 0]),
    }));
  }

  // log P(class, evidence, kept), the class changing slowest: missing nodes that are kept are not summed out.
  function joint(codes, kept = []) {
    const used = relevantNodes(codes, nodes.map((_, node) => node));
    const missing = used.filter((node) => node !== target && codes[node] < 0 && !kept.includes(node));
    return product(eliminate(used.map((node) => familyFactor(node, codes)), missing), [target, ...kept]);
  }

  // P(class | evidence), or null where the evidence has probability zero.
  function posterior(codes) {
    const logs = joint(codes);
    const total = logSum(logs, 0, nClasses);
    return total === -Infinity ? null : Array.from(logs, (value) => Math.exp(value - total));
  }

  return { terms, joint, posterior };
}
