// Where shapes are shown: beside the network, for a node or a pair, and ranked in a section of their own.

// Attributes whose own effect is smaller, in log odds, are flat in a picture: they come on demand.
const HARDLY = 0.005;
const FIRST_SHAPES = 24, FIRST_PAIRS = 12, MOST_TREE_PAIRS = 24, MOST_TRIPLES = 6;

// The class that shapes are drawn for at first: the event, or the most frequent one.
const usualClass = (network) => network.shown;

function againstWords(classes, c) {
  return classes.length === 2 ? `${classes[c]} against ${classes[1 - c]}` : `${classes[c]} against the mean of the others`;
}

function chanceWords(network, c, values) {
  const ends = [Math.min(...values), Math.max(...values)].map((odds) => chanceAt(network, c, odds));
  const [low, high] = ends.map(ends[1] - ends[0] < 0.02 ? point : brief);
  return `chance of ${cut(network.nodes.at(-1).states[c], 20)}: ${low} to ${high}`;
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

// A picture, and a button and a click that show it large in a window of its own.
function zoomable(title, draw) {
  const open = () => {
    const dialog = el("dialog", { "aria-label": title, onclose: () => dialog.remove() }, el("div", { class: "head" }, el("h3", {}, title), el("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Close")), draw(LARGE));
    document.body.append(dialog);
    dialog.showModal();
  };
  return [el("div", { class: "zoomable", onclick: open }, draw(SMALL)), el("button", { type: "button", class: "quiet small", "aria-label": `Enlarge ${title}`, onclick: open }, "Enlarge")];
}

// Attributes that are exactly zero, alone and in all pairs, and that no tree asks for.
function idleNodes({ nodes, pairs, trees }, target) {
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
  const idle = idleNodes(network, target).map((node) => nodes[node].name);
  const choice = el("select", { id: "shape-class", onchange: () => { c = Number(choice.value); draw(); } }, classes.map((name, k) => el("option", { value: k, selected: k === c }, name)));
  const about = el("p", { class: "muted" });
  const scale = el("input", { type: "checkbox", id: "same-scale", checked: true, onchange: () => { same = scale.checked; draw(); } });
  const panel = makePanel(() => draw());
  const correct = el("button", { type: "button", id: "correct", "aria-pressed": "false", onclick: () => { const on = panel.toggle(); correct.setAttribute("aria-pressed", String(on)); correct.textContent = on ? "Stop correcting" : "Correct the model"; } }, "Correct the model");
  const mains = el("div", { class: "columns shapes" }), twos = el("div", { id: "twos" }), threes = el("div", { id: "triples" });
  const more = el("button", { type: "button", onclick: () => { everything = !everything; draw(); } });
  byId("static-shapes").remove();
  section.append(el("div", { class: "head" }, el("label", { class: "small" }, "log odds of ", choice), el("label", { class: "small" }, scale, " same scale for all"), el("span", { class: "buttons" }, correct)), about, panel.panel, mains,
    ...(idle.length ? [el("details", { class: "muted small", id: "idle" }, el("summary", {}, `${plural(idle.length, "attribute")} without any effect`), el("ul", { class: "names" }, idle.map((name) => el("li", {}, name))))] : []), twos, threes, more);
  const first = Math.min(FIRST_SHAPES, ranked.filter((node) => nodes[node].importance >= HARDLY).length || ranked.length);
  const shapeCard = (name, remark, pin, fill, below, kind = "column") => {
    const holder = el("div", { class: `card ${kind}` }, el("h3", { title: name }, pin ? el("button", { type: "button", class: "link", onclick: pin }, name) : name), el("p", { class: "muted small" }, remark));
    // A wide table has thousands of steps.
    return drawLater(holder, () => holder.append(...[fill(), below()].flat().filter(Boolean)));
  };

  function draw() {
    const pairs = pairsToDraw(network, MOST_TREE_PAIRS), triples = treeShapes(network)?.triples(MOST_TRIPLES) ?? [];
    const widest = Math.max(...range(target).map((node) => mainEffect(network, node, c).largest));
    about.textContent = `The most important attribute comes first. Curve: effect on the log odds of ${againstWords(classes, c)} (left axis) and the chance of ${classes[c]} for an average row, ${brief(chanceAt(network, c, 0))} without the effect (right axis).`
      + (network.has_spreads ? ` Band: two standard deviations${network.prepared ? "" : " between fits on parts of the training rows"}.` : "") + " Grey bars: training rows."
      + (network.trees ? " A curve includes the part of the trees that depends on the attribute alone. Parts that depend on several attributes are in the pairs and threes below." : "");
    mains.replaceChildren(...(everything ? ranked : ranked.slice(0, first)).map((node) =>
      shapeCard(nodes[node].name, chanceWords(network, c, mainEffect(network, node, c).states.map(({ value }) => value)), () => jump(() => store.pin(node)), () => mainShape(network, node, c, SMALL, same ? widest : 0), () => panel.below("node", node, c))));
    drawPairs(pairs);
    drawTriples(triples);
    more.hidden = ranked.length <= first && pairs.length <= FIRST_PAIRS;
    const ofTrees = pairs.filter(({ number }) => number < 0).length, parts = [plural(ranked.length, "attribute")];
    if (pairs.length > ofTrees) parts.push(`${plural(pairs.length - ofTrees, "pair")} of the model`);
    if (ofTrees) parts.push(`${plural(ofTrees, "pair")} of the trees`);
    more.textContent = everything ? "Show fewer" : `Show all: ${parts.join(", ")}`;
  }

  function drawPairs(pairs) {
    const reaches = pairs.map((pair) => pairEffect(network, pair, c).largest), hottest = Math.max(1e-9, ...reaches);
    const legend = el("p", { class: "heat-legend small muted" }, "Each cell: ", swatch("against"), "lowers ", swatch(""), `raises the log odds${same ? `, up to ±${short(hottest)}` : ", each map to its own largest"}.${network.given ? " The bar in a cell shows how many rows of this page are in it." : ""}${pairs.some(({ deviations }) => deviations?.some((each) => each > 0)) && !network.edited ? " A ring: the effect is within two standard deviations of zero." : ""}`);
    const heats = (everything ? pairs : pairs.slice(0, FIRST_PAIRS)).map((pair, k) => shapeCard(pairName(network, pair), chanceWords(network, c, pairEffect(network, pair, c).values.flat()), pair.number < 0 ? null : () => jump(() => store.pinPair(pair.number)),
      () => zoomable(pairName(network, pair), (size) => pairShape(network, pair, c, size, null, same ? hottest : 0)), () => (pair.number < 0 ? null : panel.below("pair", pair.number, c))));
    twos.replaceChildren(...(pairs.length ? [el("h3", { class: "between" }, "Pairs: the effect of two attributes together, beyond the effect of each"), legend, el("div", { class: "columns shapes" }, heats)] : []));
  }

  // Small multiples: a heat map of two attributes for each part of the states of a third.
  function drawTriples(triples) {
    const card = ({ set, third, importance, panels }) => {
      const largest = Math.max(1e-9, ...panels.map(({ pair }) => pairEffect(network, pair, c).largest));
      return shapeCard(set.map((node) => nodes[node].name).join(" & "), `up to ±${short(largest)} in log odds, by ${nodes[third].name}`, null,
        () => el("div", { class: "charts panels" }, panels.map(({ name, pair }) => el("figure", { class: "chart" }, el("figcaption", {}, `${nodes[third].name}: ${name}`), pairShape(network, pair, c, SMALL, null, largest)))), () => null, "wide");
    };
    threes.replaceChildren(...(triples.length ? [el("h3", { class: "between" }, "Threes: the effect of three attributes together, beyond their pairs"), el("p", { class: "small muted" }, "One map of two attributes for each part of the third. Colours as above; each set has its own scale."), el("div", { class: "cards" }, triples.map(card))] : []));
  }

  function jump(pin) {
    pin();
    (byId("network") ?? byId("what-if")).scrollIntoView();
  }
  draw();
  return panel;
}
