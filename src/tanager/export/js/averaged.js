function makeWithGaps() {
  const nodes = MODEL.columns.map(({ states }) => ({ states: range(states) }));
  const { tables, nothing, corrections, ...filler } = MODEL.imputation;
  const flat = { ...filler, tables: tables.flat(3), corrections: [...nothing, ...corrections.flat(2)] };
  const average = makeAverage(flat, nodes, nodes.length, complete, coarsen);
  return (codes) => average(codes.map((code, node) => (isMissing(code, node) ? -1 : code)));
}
