function makeWithGaps() {
  const average = makeAverage(MODEL.imputation, complete, coarsen);
  return (codes) => average(codes.map((code, node) => (isMissing(code, node) ? -1 : code)));
}
