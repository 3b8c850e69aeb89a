// Unpack the content, build the parts, and let every change of state reach them.

async function unpack(text, kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new kind(await new Response(stream).arrayBuffer());
}

// The first bytes of all numbers come first, then the second ones, and so on.
async function unpackRounded(text) {
  const bytes = await unpack(text, Uint8Array);
  const n = bytes.length / 8, result = new Uint8Array(bytes.length);
  for (let k = 0; k < 8; k++) for (let i = 0; i < n; i++) result[8 * i + k] = bytes[k * n + i];
  return new Float64Array(result.buffer);
}

async function unpackEffects(network) {
  const cells = await unpackRounded(network.effects);
  const drawn = network.has_spreads && await unpack(network.drawn, Float32Array);
  const { nodes } = network;
  const attributes = nodes.slice(0, -1), nClasses = nodes.at(-1).states.length;
  let start = 0;
  const take = (size, from = cells) => from.subarray(start, (start += size));
  network.pairs = network.pairs.map(([parent, child, importance]) => ({ parent, child, importance }));
  // Numbers for each class; of two classes those of the second may stand for both.
  const takeCells = (size) => (network.mirrored ? Float64Array.from({ length: 2 * size }, (_, k) => (k % 2 ? cells[start++] : -cells[start])) : take(size * nClasses));
  network.intercept = takeCells(1);
  for (const node of attributes) node.main = takeCells(node.states.length + 1);
  for (const pair of network.pairs) pair.table = takeCells((nodes[pair.parent].coarse.length + 1) * (nodes[pair.child].coarse.length + 1));
  for (const node of attributes) node.density = take(node.states.length);
  if (network.trees) await unpackTrees(network.trees);
  start = 0;
  if (network.has_spreads) for (const node of attributes) node.spread = take(node.states.length * nClasses, drawn);
  return network;
}

async function unpackTrees(trees) {
  for (const key of ["roots", "classes", "attributes", "ends", "offsets"]) trees[key] = await unpack(trees[key], Int32Array);
  trees.left = await unpack(trees.left, Uint8Array);
  trees.means = await unpackRounded(trees.means);
}

async function unpackMissingRule(missingRule) {
  if (missingRule.means) missingRule.means = await unpack(missingRule.means, Float64Array);
  if (missingRule.imputation) {
    for (const key of ["shares", "logs", "nothing", "corrections"]) missingRule.imputation[key] = await unpack(missingRule.imputation[key], Float64Array);
    missingRule.imputation.completions = await unpack(missingRule.imputation.completions, Int32Array);
  }
  return missingRule;
}

async function unpackNetwork(network) {
  if (network.kind === "effects") return unpackEffects(network);
  const cells = await unpack(network.tables, Float64Array);
  let start = 0;
  for (const node of network.nodes) {
    const size = node.parents.reduce((n, parent) => n * network.nodes[parent].states.length, node.states.length);
    node.logs = cells.subarray(start, start + size).map(Math.log);
    start += size;
  }
  return network;
}

async function unpackRows(rows) {
  let at = 0;
  const numbers = Array.from(await unpack(rows.numbers, Uint32Array), (step) => (at += step)); // what people call the rows
  // The place of the row with a number; of a thinned table that of the last row before it. -1 for none.
  const placeOf = (number) => {
    const k = numbers.findLastIndex((each) => each <= number);
    return k >= 0 && number < numbers[k] + rows.every ? k : -1;
  };
  return {
    ...rows, numbers, placeOf,
    codes: await unpack(rows.codes, { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[rows.bytes]),
    classes: rows.classes && await unpack(rows.classes, Uint16Array),
    wrong: rows.wrong && [...await unpack(rows.wrong, Uint32Array)],
    values: rows.values && await unpack(rows.values, Float64Array),
  };
}

function makeTheme() {
  const button = byId("theme");
  const next = { auto: "light", light: "dark", dark: "auto" };
  let stored = null;
  try { stored = localStorage.getItem("tanager-theme"); } catch { /* a page from a file may have no storage */ }
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = { auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" }[theme];
    button.dataset.value = theme;
  };
  button.addEventListener("click", () => {
    show(next[button.dataset.value]);
    try { localStorage.setItem("tanager-theme", button.dataset.value); } catch { /* then it lasts until the page closes */ }
  });
  show(stored in next ? stored : "auto");
}

function makeDetails(network, target, graph, store, views) {
  const { nodes } = network;
  const place = byId("details");
  const link = (k) => el("button", { type: "button", class: "link", onclick: () => { store.pin(k); graph.centre(k); } }, nodes[k].name);
  const links = (title, list, each = link) => (list.length ? el("p", { class: "small links" }, `${title}: `, list.slice(0, 30).map(each), list.length > 30 ? `and ${list.length - 30} more` : null) : null);

  const unpin = () => el("button", { type: "button", class: "quiet", onclick: () => store.pin(-1) }, "Unpin");
  const pairs = network.pairs ?? [];
  const pairLink = (p) => el("button", { type: "button", class: "link", onclick: () => store.pinPair(p) }, pairName(network, pairs[p]));
  const pairsOf = (k) => range(pairs.length).filter((p) => pairs[p].parent === k || pairs[p].child === k).sort((p, q) => pairs[q].importance - pairs[p].importance);
  const relatives = (k) => (network.kind === "effects" ? [links("Pairs", pairsOf(k), pairLink)] : [links("Parents", nodes[k].parents), links("Children", graph.children[k])]);

  return function update({ codes, pinned, pair }) {
    if (pair >= 0) {
      const { parent, child } = pairs[pair];
      place.replaceChildren(el("div", { class: "head" }, el("h3", {}, pairName(network, pairs[pair])), unpin()),
        links("Attributes", [parent, child]), ...views.pairDetails(pair));
      return;
    }
    if (pinned < 0) {
      place.replaceChildren(el("p", { class: "muted small" }, views.hint));
      return;
    }
    const node = nodes[pinned];
    const choice = pinned === target ? null : el("select", { "aria-label": `Evidence of ${node.name}`, onchange: (event) => store.set(pinned, Number(event.target.value)) },
      el("option", { value: "-1" }, "not given"), node.states.map((state, code) => el("option", { value: code, selected: codes[pinned] === code }, state)));
    place.replaceChildren(
      el("div", { class: "head" }, el("h3", {}, node.name), choice, unpin()),
      ...relatives(pinned).filter(Boolean),
      ...views.nodeDetails(pinned));
  };
}

function makeSearch(network, graph, evidence, store) {
  const names = network.nodes.map((node) => node.name.toLowerCase());
  const input = byId("search");
  let matches = null;
  input.addEventListener("input", () => {
    const words = input.value.trim().toLowerCase();
    matches = words ? new Set(range(names.length).filter((k) => names[k].includes(words))) : null;
    graph.find(matches);
    evidence.find(matches);
    byId("found").textContent = matches === null ? "" : matches.size ? `${matches.size} found` : "none found";
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !matches?.size) return;
    const list = [...matches];
    const k = list[(list.indexOf(store.state.pinned) + 1) % list.length];
    store.pin(k);
    graph.centre(k);
  });
}

async function main() {
  document.documentElement.dataset.scripts = "";
  const content = JSON.parse(byId("content").textContent);
  makeTheme();
  const network = await unpackNetwork(content.network);
  const target = network.nodes.length - 1;
  const { nodes } = network;
  const classes = nodes[target].states;
  const store = makeState(nodes, target, network.pairs?.length);
  const missingRule = await unpackMissingRule(content.missing);
  const model = makeModel(network, target, missingRule, content.base);
  network.shown = content.base.shown;
  network.baseOdds = content.base.log_rates.map((log) => log - Math.log1p(-Math.min(Math.exp(log), 1 - 1e-12)));
  const effects = network.kind === "effects";
  const views = (effects ? effectViews : tableViews)(network, target, store);
  const graph = byId("graph") ? makeGraph(network, target, store, views) : null;
  const given = content.rows ? await unpackRows(content.rows) : null;
  const intervals = makeIntervals(await unpackIntervals(content.intervals, network), network, target, given);
  const outcome = makeOutcome(network, target, model, missingRule, content.base, store, content.decision, intervals);
  const changes = showChanges(network, target, makeChanges(network, target, model, outcome.decide), model, outcome.decide, store);
  const evidence = makeEvidence(network, target, store);
  const details = graph ? makeDetails(network, target, graph, store, views) : () => {};
  network.given = given;
  network.prepared = intervals !== null;
  const rows = given ? makeRows(network, target, given, heldOutAnswers(content, classes), store) : null;
  if (graph) makeSearch(network, graph, evidence, store);
  store.listen((state) => {
    rows?.complete(state);
    const answer = outcome.update(state);
    store.favoured = answer.favoured ?? -1;
    graph?.update(state.codes, state.pinned, answer);
    evidence.update(state);
    details(state);
    rows?.update(state);
    changes.update(state);
  });
  store.start();
  const panel = effects ? showShapes(network, target, store, (redraw) => makeEditPanel(network, target, missingRule, model, given, { digest: network.digest, version: content.version, before: content.edits, trained: Boolean(content.quality?.split) }, store, redraw)) : null;
  makeRowButtons();
  makeSorting(document.querySelector("table.mistakes"));
  if (content.quality) makeDeciding(content, classes);
  if (content.columns) showColumns(content, network, target);
  makeFolds();
  makePrinting();
  // For programs, and for the tests of this page.
  window.tanagerReport = { ...model, answer: outcome.answer, decide: outcome.decide, changes: makeChanges(network, target, model, outcome.decide), edits: panel, treeShapes: () => treeShapes(network), intervals, store };
  byId("loading").remove();
  document.documentElement.dataset.ready = performance.now().toFixed(0);
}

main();
