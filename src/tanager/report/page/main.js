// Unpack the content, build the parts, and let every change of state reach them.

async function unpack(text, kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new kind(await new Response(stream).arrayBuffer());
}

async function unpackNetwork(network) {
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
  return {
    ...rows,
    codes: await unpack(rows.codes, { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[rows.bytes]),
    classes: rows.classes && await unpack(rows.classes, Uint16Array),
    wrong: rows.wrong && [...await unpack(rows.wrong, Uint32Array)],
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

function makeDetails(network, target, graph, store) {
  const { nodes } = network;
  const place = byId("details");
  const link = (k) => el("button", { type: "button", class: "link", onclick: () => { store.pin(k); graph.centre(k); } }, nodes[k].name);
  const links = (title, list) => (list.length ? el("p", { class: "small links" }, `${title}: `, list.slice(0, 30).map(link), list.length > 30 ? `and ${list.length - 30} more` : null) : null);

  return function update({ codes, pinned }) {
    if (pinned < 0) {
      place.replaceChildren(el("p", { class: "muted small" }, "Hover a node for its table, click to pin it. Drag to pan, Ctrl + wheel to zoom."));
      return;
    }
    const node = nodes[pinned];
    const choice = pinned === target ? null : el("select", { "aria-label": `Evidence of ${node.name}`, onchange: (event) => store.set(pinned, Number(event.target.value)) },
      el("option", { value: "-1" }, "unknown"), node.states.map((state, code) => el("option", { value: code, selected: codes[pinned] === code }, state)));
    place.replaceChildren(
      el("div", { class: "head" }, el("h3", {}, node.name), choice, el("button", { type: "button", class: "quiet", onclick: () => store.pin(-1) }, "Unpin")),
      ...[links("Parents", node.parents), links("Children", graph.children[pinned])].filter(Boolean),
      nodeTable(network, pinned, codes, 60, 40, 20));
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
  const content = JSON.parse(byId("content").textContent);
  makeTheme();
  const network = await unpackNetwork(content.network);
  const target = network.nodes.length - 1;
  const { nodes } = network;
  const classes = nodes[target].states;
  byId("title").textContent = content.title;
  byId("summary").textContent = [plural(target, "attribute"), `${classes.length} classes`,
    plural(network.nodes.reduce((n, node) => n + node.parents.length, 0), "edge"), ...(content.rows ? [plural(content.rows.count, "row")] : [])].join(" · ");
  byId("footer").textContent = `Made by Tanager ${content.version}. Everything on this page is computed in it; nothing is sent anywhere.`;
  const store = makeState(nodes, target);
  const inference = makeInference(nodes, target);
  const explainer = makeExplainer(nodes, network.order, target, inference);
  const graph = makeGraph(network, target, store);
  const outcome = makeOutcome(network, target, inference, explainer, store);
  const evidence = makeEvidence(network, target, store);
  const details = makeDetails(network, target, graph, store);
  const rows = content.rows ? makeRows(network, target, await unpackRows(content.rows), store) : null;
  makeSearch(network, graph, evidence, store);
  store.listen((state) => {
    const answer = outcome.update(state);
    graph.update(state.codes, state.pinned, answer);
    evidence.update(state);
    details(state);
    rows?.update(state);
  });
  store.start();
  if (content.quality) showQuality(content.quality, classes);
  else if (content.rows) { byId("quality").remove(); byId("to-quality").remove(); }
  if (content.columns) showData(content.columns, network, target, content.rows.count);
  showLearning(content.learning);
  // For programs, and for the tests of this page.
  window.tanagerReport = { posterior: inference.posterior, logJoint: inference.logJoint, contributions: explainer.contributions, answer: outcome.answer, store };
  document.documentElement.dataset.ready = performance.now().toFixed(0);
}

main();
