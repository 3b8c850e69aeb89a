// The class is one more node, and a parent of every attribute.
function makeWithGaps() {
  const target = MODEL.columns.length;
  const nClasses = MODEL.intercept.length;
  const nodes = MODEL.columns.map(({ states }) => ({ states: range(states), parents: [], logs: [] }));
  nodes.push({ states: range(nClasses), parents: [], logs: MODEL.intercept });
  for (const { attributes, child, table } of MODEL.terms) {
    if (child === null) Object.assign(nodes[target], { parents: attributes, logs: table });
    else {
      const byClass = range(nClasses).flatMap((c) => table.filter((_, cell) => cell % nClasses === c));
      Object.assign(nodes[child], { parents: [target, ...attributes.filter((node) => node !== child)], logs: byClass });
    }
  }
  const { posterior } = makeInference(nodes, target);
  return (codes) => posterior([...codes.map((code, node) => (isMissing(code, node) ? -1 : code)), -1]);
}
