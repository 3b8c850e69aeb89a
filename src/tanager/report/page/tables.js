// The table of a node: a row for each configuration of its parents, a column for each state.

function configuration(network, parents, index) {
  const codes = new Array(parents.length);
  for (let k = parents.length - 1; k >= 0; k--) {
    const n = network.nodes[parents[k]].states.length;
    codes[k] = index % n;
    index = Math.floor(index / n);
  }
  return codes;
}

// Rows that agree with the evidence first; at most `mostRows` rows and `mostStates` columns, words of `letters` letters.
function nodeTable(network, k, evidence, mostRows, mostStates, letters) {
  const node = network.nodes[k];
  const { parents, states } = node;
  const nRows = node.logs.length / states.length;
  const agrees = (codes) => codes.every((code, d) => evidence[parents[d]] < 0 || evidence[parents[d]] === code);
  const known = parents.some((parent) => evidence[parent] >= 0);
  const first = [], rest = [];
  for (let i = 0; i < nRows && first.length < mostRows; i++) {
    const codes = configuration(network, parents, i);
    if (agrees(codes)) first.push([i, codes]);
    else if (rest.length < mostRows) rest.push([i, codes]);
  }
  const shown = [...first, ...rest].slice(0, mostRows).sort((a, b) => (known ? 0 : a[0] - b[0]));
  const columns = range(Math.min(states.length, mostStates));
  const head = [...parents.map((parent) => cut(network.nodes[parent].name, letters)), ...columns.map((c) => cut(states[c], letters))];
  const rows = shown.map(([i, codes]) => [
    ...codes.map((code, d) => el("th", { scope: "row", class: agrees(codes) && known ? "agrees" : null }, cut(network.nodes[parents[d]].states[code], letters))),
    ...columns.map((c) => {
      const p = Math.exp(node.logs[i * states.length + c]);
      return el("td", { class: "heat", "--heat": p.toFixed(3), title: String(p) }, p < 1e-4 && p > 0 ? "<.0001" : p.toFixed(4).replace(/^0/, ""));
    }),
  ]);
  const left = [];
  if (nRows > shown.length) left.push(`${shown.length} of ${plural(nRows, "row")}`);
  if (states.length > columns.length) left.push(`${columns.length} of ${plural(states.length, "state")}`);
  const given = parents.length ? ` given ${parents.map((parent) => network.nodes[parent].name).join(", ")}` : "";
  return el("div", { class: "node-table" },
    dataTable(`Probabilities of ${node.name}${given}`, head, rows),
    left.length ? el("p", { class: "muted small" }, `Showing ${left.join(", ")}.`) : null);
}

// What the network shows of a node of tables when it is pointed at, and when it is pinned.
function tableViews(network, target, store) {
  return {
    nodeTip: (k) => [nodeTable(network, k, store.state.codes, 8, 5, 14)],
    nodeDetails: (k) => [nodeTable(network, k, store.state.codes, 60, 40, 20)],
    hint: touches ? "Tap a node for its table. Drag to pan, pinch to zoom." : "Hover a node for its table, click to pin it. Drag to pan, Ctrl + wheel to zoom.",
  };
}
