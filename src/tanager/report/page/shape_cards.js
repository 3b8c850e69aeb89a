// Where shapes are shown: beside the network, for a node or a pair, and ranked in a section of their own.

const FIRST_SHAPES = 24, FIRST_PAIRS = 12, MOST_TREE_PAIRS = 24, MOST_TRIPLES = 6;

// The class that shapes are drawn for at first: the most frequent one.
const usualClass = (network) => network.frequent;

function againstWords(classes, c) {
  return classes.length === 2 ? `${classes[c]} against ${classes[1 - c]}` : `${classes[c]} against the mean of the others`;
}

const swatch = (kind) => el("span", { class: `swatch ${kind}` });

const pairName = (network, { parent, child }) => `${network.nodes[parent].name} & ${network.nodes[child].name}`;

function interceptTable(network, target) {
  const classes = network.nodes[target].states;
  return dataTable("Intercept of each class", ["class", "log odds"], classes.map((name, c) => [name, signed(oddsAt(network.intercept, 0, c, classes.length))]));
}

// What the network shows when a node or an edge is pointed at, and when it is pinned.
function effectViews(network, target, store) {
  const classes = network.nodes[target].states;
  const favoured = () => (store.favoured >= 0 ? store.favoured : usualClass(network));
  const words = (c) => el("p", { class: "muted small" }, `Log odds of ${againstWords(classes, c)}`);
  const node = (k, size) => {
    if (k === target) return [interceptTable(network, target)];
    return [words(favoured()), mainShape(network, k, favoured(), size, 0, store.state.codes[k])];
  };
  const pair = (p, size) => [words(favoured()), pairShape(network, drawnPair(network, network.pairs[p]), favoured(), size, store.state.codes)];
  const room = () => (byId("details").clientWidth < 500 ? SMALL : LARGE);
  return {
    nodeTip: (k) => node(k, SMALL), nodeDetails: (k) => node(k, room()),
    pairTip: (p) => pair(p, SMALL), pairDetails: (p) => pair(p, room()),
    hint: `${touches ? "Tap" : "Hover"} a node for its effect${network.pairs.length ? ", an edge for that of the pair" : ""}${touches ? ". Drag to pan, pinch to zoom." : ", click to pin it. Drag to pan, Ctrl + wheel to zoom."}`,
  };
}

// Attributes that are exactly zero, alone and in all pairs, and that no tree asks for.
function silentNodes({ nodes, pairs, trees }, target) {
  const said = new Set(trees ? trees.attributes : []);
  pairs.forEach(({ parent, child, importance }) => { if (importance > 0) said.add(parent).add(child); });
  return range(target).filter((node) => nodes[node].importance === 0 && !said.has(node));
}

function showShapes(network, target, store, makePanel) {
  const { nodes } = network;
  const classes = nodes[target].states;
  const section = byId("shapes");
  let c = usualClass(network), everything = false, same = true;
  const ranked = range(target).filter((node) => nodes[node].importance > 0).sort((a, b) => nodes[b].importance - nodes[a].importance || a - b);
  const silent = silentNodes(network, target).map((node) => nodes[node].name);
  const choice = el("select", { id: "shape-class", onchange: () => { c = Number(choice.value); draw(); } }, classes.map((name, k) => el("option", { value: k, selected: k === c }, name)));
  const about = el("p", { class: "muted" });
  const scale = el("input", { type: "checkbox", id: "same-scale", checked: true, onchange: () => { same = scale.checked; draw(); } });
  const panel = makePanel(() => draw());
  const correct = el("button", { type: "button", id: "correct", "aria-pressed": "false", onclick: () => { const on = panel.toggle(); correct.setAttribute("aria-pressed", String(on)); correct.textContent = on ? "Stop correcting" : "Correct the model"; } }, "Correct the model");
  const mains = el("div", { class: "columns shapes" }), twos = el("div", { id: "twos" }), threes = el("div", { id: "triples" });
  const more = el("button", { type: "button", onclick: () => { everything = !everything; draw(); } });
  section.append(el("h2", { id: "shapes-title" }, "Shapes"), el("div", { class: "head" }, el("label", { class: "small" }, "log odds of ", choice), el("label", { class: "small" }, scale, " same scale for all"), el("span", { class: "buttons" }, correct)), about, panel.panel, mains,
    ...(silent.length ? [el("p", { class: "muted small", id: "silent" }, `Exactly zero, so of no say: ${silent.join(", ")}.`)] : []), twos, threes, more);
  // Drawn when scrolled to: a wide table has thousands of steps.
  const watcher = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    watcher.unobserve(entry.target);
    entry.target.fill();
  }), { rootMargin: "600px" });
  const shapeCard = (name, remark, pin, fill, below, kind = "column") => {
    const holder = el("div", { class: `card ${kind}` }, el("h3", { title: name }, pin ? el("button", { type: "button", class: "link", onclick: pin }, name) : name), el("p", { class: "muted small" }, remark));
    holder.fill = () => holder.append(...[fill(), below()].flat().filter(Boolean));
    watcher.observe(holder);
    return holder;
  };

  function draw() {
    watcher.disconnect();
    const pairs = pairsToDraw(network, MOST_TREE_PAIRS), triples = treeShapes(network)?.triples(MOST_TRIPLES) ?? [];
    const widest = Math.max(...range(target).map((node) => mainEffect(network, node, c).largest));
    about.textContent = `Each attribute's part of the log odds of ${againstWords(classes, c)}, the most important first.`
      + (network.has_spreads ? ` The band reaches two standard deviations each way: ${network.prepared ? "how far off the curve may be, by what was learnt from the training rows" : "between fits on parts of the training rows"}.` : "") + " Below it: where the training rows are."
      + (network.trees ? " A curve has what the trees say of the attribute alone, on average over the others as the training rows have them; what they say of several together is in the pairs and threes below, and counts in the importance." : "");
    mains.replaceChildren(...(everything ? ranked : ranked.slice(0, FIRST_SHAPES)).map((node) =>
      shapeCard(nodes[node].name, `importance ${short(nodes[node].importance)}`, () => jump(() => store.pin(node)), () => mainShape(network, node, c, SMALL, same ? widest : 0), () => panel.below("node", node, c))));
    drawPairs(pairs);
    drawTriples(triples);
    more.hidden = ranked.length <= FIRST_SHAPES && pairs.length <= FIRST_PAIRS;
    more.textContent = everything ? "Show fewer" : `Show all ${plural(ranked.length, "attribute")}${pairs.length ? ` and ${plural(pairs.length, "pair")}` : ""}`;
  }

  function drawPairs(pairs) {
    const reaches = pairs.map((pair) => pairEffect(network, pair, c).largest), hottest = Math.max(1e-9, ...reaches);
    const legend = el("p", { class: "heat-legend small muted" }, "Each cell: ", swatch("against"), "lowers ", swatch(""), `raises the log odds${same ? `, up to ±${short(hottest)}` : ", each map to its own largest"}.${network.given ? " The bar in a cell: how many rows of this page are in it." : ""}${pairs.some(({ deviations }) => deviations?.some((each) => each > 0)) && !network.edited ? " A ring: two standard deviations reach across zero." : ""}`);
    const heats = (everything ? pairs : pairs.slice(0, FIRST_PAIRS)).map((pair, k) => shapeCard(pairName(network, pair), `importance ${short(pair.importance)}, up to ±${short(reaches[k])}`, pair.number < 0 ? null : () => jump(() => store.pinPair(pair.number)),
      () => pairShape(network, pair, c, SMALL, null, same ? hottest : 0), () => (pair.number < 0 ? null : panel.below("pair", pair.number, c))));
    twos.replaceChildren(...(pairs.length ? [el("h3", { class: "between" }, "Pairs: what two attributes say beyond their parts"), legend, el("div", { class: "columns shapes" }, heats)] : []));
  }

  // Small multiples: a heat map of two attributes for each part of the states of a third.
  function drawTriples(triples) {
    const card = ({ set, third, importance, panels }) => {
      const largest = Math.max(1e-9, ...panels.map(({ pair }) => pairEffect(network, pair, c).largest));
      return shapeCard(set.map((node) => nodes[node].name).join(" & "), `importance ${short(importance)}, up to ±${short(largest)}, by ${nodes[third].name}`, null,
        () => el("div", { class: "charts panels" }, panels.map(({ name, pair }) => el("figure", { class: "chart" }, el("figcaption", {}, `${nodes[third].name}: ${name}`), pairShape(network, pair, c, SMALL, null, largest)))), () => null, "wide");
    };
    threes.replaceChildren(...(triples.length ? [el("h3", { class: "between" }, "Threes: what three attributes say beyond their pairs"), el("p", { class: "small muted" }, "A map of two for each part of the third; colours as above, each set to its own largest."), el("div", { class: "cards" }, triples.map(card))] : []));
  }

  function jump(pin) {
    pin();
    byId("what-if").scrollIntoView();
  }
  draw();
  return panel;
}
