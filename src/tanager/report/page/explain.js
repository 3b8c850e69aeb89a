// What each attribute adds to the log odds of one class against another; the parts add up to the whole.
//
// As `tanager.explain` defines it: the class comes first, with what its ancestors say; then every known
// attribute, parents before children, adds log P(x | those before it, a) - log P(x | those before it, b). Where its
// parents are known that is its own table. So only families joined by missingRule need be looked at together: their unknown
// attributes are summed out, and add nothing themselves.

function makeExplainer(nodes, order, target, inference) {
  const rank = new Array(nodes.length);
  order.forEach((node, k) => { rank[node] = k; });
  const ancestors = new Set();
  const stack = [...nodes[target].parents];
  while (stack.length) {
    const node = stack.pop();
    if (!ancestors.has(node)) { ancestors.add(node); stack.push(...nodes[node].parents); }
  }

  function logOdds(codes, children, a, b) {
    return inference.terms(codes, children).reduce((sum, term) => sum + (term.logs[a] - term.logs[b]), 0);
  }

  function joined(term, codes, a, b) {
    const observed = term.children.filter((node) => node !== target && codes[node] >= 0 && !ancestors.has(node));
    observed.sort((i, j) => rank[i] - rank[j]);
    const known = codes.slice();
    observed.forEach((node) => { known[node] = -1; });
    let before = 0;
    const parts = term.children.filter((node) => codes[node] >= 0 && ancestors.has(node))
      .map((node) => ({ node, value: 0, summed: term.summed }));
    if (term.children.includes(target)) {
      before = logOdds(known, term.children, a, b);
      parts.push({ node: target, value: before, summed: term.summed });
    }
    observed.forEach((node, k) => {
      known[node] = codes[node];
      const last = k === observed.length - 1;
      const after = last ? term.logs[a] - term.logs[b] : logOdds(known, term.children, a, b);
      parts.push({ node, value: after - before, summed: term.summed });
      before = after;
    });
    return parts;
  }

  // Parts {node, value, summed}, the class first, then by size; `summed`: unknown attributes it is joined to.
  function contributions(codes, a, b) {
    const parts = inference.terms(codes).flatMap((term) =>
      term.summed.length ? joined(term, codes, a, b)
        : [{ node: term.children[0], value: term.logs[a] - term.logs[b], summed: [] }]);
    return parts.sort(byParts(target));
  }

  return { contributions };
}
