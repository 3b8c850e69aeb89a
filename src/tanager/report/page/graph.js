// The network: boxes in layers from top to bottom; pan and zoom, hover for what a node or a pair says, click to pin it.

// The scale below which names cannot be read: at first part of a large network is out of sight instead.
const SMALLEST = 0.55;

function makeGraph(network, target, store, views) {
  const { nodes, height, letters } = network;
  const additive = network.kind === "effects";
  const pairs = network.pairs ?? [];
  const pairOf = (parent, child) => pairs.findIndex((pair) => pair.parent === parent && pair.child === child);
  const children = nodes.map(() => []);
  nodes.forEach((node, child) => node.parents.forEach((parent) => children[parent].push(child)));
  const view = { x: 0, y: 0, scale: 1 };
  // Attributes without any effect are not drawn.
  const paired = new Set(pairs.filter(({ importance }) => importance > 0).flatMap(({ parent, child }) => [parent, child]));
  const drawnNodes = range(nodes.length).filter((k) => !additive || k === target || nodes[k].importance > 0 || paired.has(k));
  const all = { nodes: drawnNodes, x: drawnNodes.map((k) => nodes[k].x), y: drawnNodes.map((k) => nodes[k].y) };
  let shown = network.part ?? all;
  const strongestPairs = range(pairs.length).filter((p) => pairs[p].importance > 0).sort((p, q) => pairs[q].importance - pairs[p].importance || p - q);
  let nDrawn = Math.min(network.part?.pairs?.length ?? pairs.length, strongestPairs.length);
  let right = 0, bottom = 0;

  // Edges are the wider the stronger. Those of the class, which goes nearly everywhere, are faint.
  const fewLeaves = nodes.length <= 12 && nodes.every((node, k) => k === target || node.parents.every((parent) => parent === target));
  const bold = (parent) => parent !== target || fewLeaves;
  const strongest = Math.max(1e-9, ...nodes.flatMap((node) => (node.strengths ?? []).filter((_, d) => bold(node.parents[d]))));
  const strongestMain = Math.max(1e-9, ...nodes.map((node) => node.importance ?? 0));
  const width = (node, parent, d) => {
    if (!node.strengths) return null;
    if (bold(parent)) return (1 + (3 * node.strengths[d]) / strongest).toFixed(2);
    return additive ? (1 + (4 * node.strengths[d]) / strongestMain).toFixed(2) : null;
  };
  // Pairs fade with their importance.
  const strongestPair = Math.max(1e-9, ...pairs.map((pair) => pair.importance));
  const fade = (importance) => (0.25 + 0.65 * importance / strongestPair).toFixed(2);
  const edges = nodes.flatMap((node, child) => node.parents.map((parent, d) => {
    const pair = parent === target ? -1 : pairOf(parent, child);
    return {
      parent,
      child,
      pair,
      path: svg("path", {
        class: `edge ${bold(parent) ? "" : "of-class"} ${additive ? "pair" : ""}`,
        "marker-end": bold(parent) && !additive ? "url(#arrow)" : null,
        "--width": width(node, parent, d),
        "--fade": pair < 0 ? null : fade(pairs[pair].importance),
      }),
      // Wider than what is seen, to be pointed at.
      reach: pair < 0 ? null : svg("path", {
        class: "reach", "data-pair": pair,
        onpointerenter: (event) => event.pointerType !== "touch" && showPairTip(pair, event), onpointerleave: hideTip,
      }),
    };
  }));
  const boxes = nodes.map((node, k) => {
    const name = svg("text", { x: 10, y: height / 2, class: "name" }, cut(node.name, letters));
    const value = svg("text", { x: 10, y: height - 7, class: "value" });
    const group = svg("g", {
      class: k === target ? "node class" : node.states.length > 1 ? "node" : "node idle", role: "button",
      tabindex: k === target ? "0" : "-1", "data-node": k, "aria-describedby": "tip",
      onpointerenter: (event) => event.pointerType !== "touch" && showTip(k), onpointerleave: hideTip,
      onfocus: () => showTip(k), onblur: hideTip,
    }, svg("rect", { width: node.width, height, rx: 8 }), name, " ", value);
    return { group, name, value };
  });
  const world = svg("g", {}, edges.filter((e) => e.parent === target).map((e) => e.path),
    edges.filter((e) => e.parent !== target).map((e) => e.path), edges.map((e) => e.reach), boxes.map((box) => box.group));
  const marker = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" },
    svg("path", { d: "M0,0L8,4L0,8z" }));
  const canvas = svg("svg", { role: "group", "aria-label": "Network: arrow keys move between nodes, Enter pins one" },
    svg("defs", {}, marker), world);
  byId("graph").append(canvas);

  // Put the nodes that are shown where the layout has them, and join them.
  function place() {
    const here = new Set(shown.nodes);
    shown.nodes.forEach((k, d) => {
      nodes[k].x = shown.x[d];
      nodes[k].y = shown.y[d];
      boxes[k].group.setAttribute("transform", `translate(${nodes[k].x},${nodes[k].y})`);
    });
    boxes.forEach((box, k) => box.group.classList.toggle("away", !here.has(k)));
    const drawn = new Set(strongestPairs.slice(0, nDrawn));
    right = Math.max(...shown.nodes.map((k) => nodes[k].x + nodes[k].width));
    bottom = Math.max(...shown.nodes.map((k) => nodes[k].y + height));
    for (const { parent, child, path, pair, reach } of edges) {
      const away = !here.has(parent) || !here.has(child) || (pair >= 0 && !drawn.has(pair));
      for (const each of [path, reach]) each?.classList.toggle("away", away);
      const from = nodes[parent], to = nodes[child];
      const x1 = from.x + from.width / 2, y1 = from.y + height, x2 = to.x + to.width / 2, y2 = to.y - 3;
      const bend = Math.max(24, (y2 - y1) / 2);
      for (const each of [path, reach]) each?.setAttribute("d", `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`);
    }
    const button = byId("part");
    button.hidden = (network.part?.nodes.length ?? all.nodes.length) === all.nodes.length;
    button.textContent = shown === all ? `Strongest ${(network.part?.nodes.length ?? 1) - 1} attributes` : `All ${all.nodes.length - 1} attributes`;
    byId("pairs-drawn").value = nDrawn;
    const visible = edges.filter(({ pair, path }) => pair >= 0 && !path.classList.contains("away")).length;
    byId("pairs-count").textContent = `${visible} of ${strongestPairs.length}, the strongest first`;
  }

  function show(layout) {
    if (layout === shown) return;
    shown = layout;
    place();
    fit(SMALLEST);
  }

  function apply() {
    world.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.scale})`);
  }

  function fit(smallest = 0) {
    const { clientWidth: w, clientHeight: h } = canvas;
    view.scale = Math.min(1.25, Math.max(smallest, Math.min((w - 20) / right, (h - 20) / bottom)));
    const centre = nodes[target].x + nodes[target].width / 2;
    view.x = right * view.scale <= w - 20 ? (w - right * view.scale) / 2 : w / 2 - centre * view.scale;
    view.y = bottom * view.scale <= h - 20 ? (h - bottom * view.scale) / 2 : 10;
    apply();
  }

  function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const scale = Math.min(3, Math.max(0.1, view.scale * factor));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    apply();
  }

  function centre(k) {
    if (!shown.nodes.includes(k)) show(all);
    view.scale = Math.max(view.scale, 0.8);
    view.x = canvas.clientWidth / 2 - (nodes[k].x + nodes[k].width / 2) * view.scale;
    view.y = canvas.clientHeight / 2 - (nodes[k].y + height / 2) * view.scale;
    apply();
  }

  const tip = byId("tip");
  function showTip(k) {
    placeTip(boxes[k].group.getBoundingClientRect(), el("strong", {}, nodes[k].name), ...views.nodeTip(k));
    highlight(k);
  }

  function showPairTip(pair, { clientX: x, clientY: y }) {
    placeTip({ left: x + 10, top: y - 10, bottom: y + 10 }, el("strong", {}, pairName(network, pairs[pair])), ...views.pairTip(pair));
    highlight(-1, pair);
  }

  function placeTip(box, ...content) {
    tip.replaceChildren(...content);
    tip.hidden = false;
    const left = Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = box.bottom + 8 + tip.offsetHeight < innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? box.bottom + 8 : Math.max(8, box.top - tip.offsetHeight - 8)}px`;
  }

  function hideTip() {
    tip.hidden = true;
    highlight(store.state.pinned, store.state.pair);
  }

  function highlight(k, p = -1) {
    for (const { parent, child, pair, path } of edges) path.classList.toggle("near", parent === k || child === k || (p >= 0 && pair === p));
  }

  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    if (!pointers.size) moved = 0;
    pointers.set(event.pointerId, event);
  });
  canvas.addEventListener("pointermove", (event) => {
    const last = pointers.get(event.pointerId);
    if (!last) return;
    const others = [...pointers.values()].filter((other) => other.pointerId !== event.pointerId);
    const dx = event.clientX - last.clientX, dy = event.clientY - last.clientY;
    moved += Math.abs(dx) + Math.abs(dy);
    if (moved > 4) { canvas.setPointerCapture(event.pointerId); tip.hidden = true; }
    if (others.length) {
      const far = (a, b) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1;
      const frame = canvas.getBoundingClientRect();
      zoom(far(event, others[0]) / far(last, others[0]), others[0].clientX - frame.left, others[0].clientY - frame.top);
    } else { view.x += dx; view.y += dy; apply(); }
    pointers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("click", (event) => {
    const group = event.target.closest("[data-node], [data-pair]");
    if (moved > 4 || !group) return;
    if (group.dataset.pair) store.pinPair(store.state.pair === Number(group.dataset.pair) ? -1 : Number(group.dataset.pair));
    else togglePin(Number(group.dataset.node));
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;  // a plain wheel scrolls the page
    event.preventDefault();
    const frame = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });

  function togglePin(k) { store.pin(store.state.pinned === k ? -1 : k); }

  // The nearest node in a direction, nodes off the line counting as twice as far.
  function neighbour(k, dx, dy) {
    const away = (j) => {
      const x = (nodes[j].x + nodes[j].width / 2 - nodes[k].x - nodes[k].width / 2), y = nodes[j].y - nodes[k].y;
      const along = x * dx + y * dy;
      return along > 1 ? along + 2 * Math.abs(x * dy + y * dx) : Infinity;
    };
    return shown.nodes.reduce((best, j) => (away(j) < away(best) ? j : best), k);
  }

  function focus(k) {
    boxes.forEach((box, j) => box.group.setAttribute("tabindex", j === k ? "0" : "-1"));
    const { left, right: end, top, bottom: low } = boxes[k].group.getBoundingClientRect();
    const frame = canvas.getBoundingClientRect();
    if (left < frame.left || end > frame.right || top < frame.top || low > frame.bottom) centre(k);
    boxes[k].group.focus({ preventScroll: true });
  }

  const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  canvas.addEventListener("keydown", (event) => {
    const group = event.target.closest("[data-node]");
    if (!group || event.ctrlKey || event.metaKey) return;
    const k = Number(group.dataset.node);
    if (moves[event.key]) focus(neighbour(k, ...moves[event.key]));
    else if (event.key === "Enter" || event.key === " ") togglePin(k);
    else if (event.key === "Escape") { if (tip.hidden) store.pin(-1); hideTip(); }
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });
  byId("zoom-in").addEventListener("click", () => zoom(1.25));
  byId("zoom-out").addEventListener("click", () => zoom(0.8));
  byId("zoom-fit").addEventListener("click", () => fit());
  byId("part").addEventListener("click", () => show(shown === all ? network.part : all));
  byId("how-many").hidden = !strongestPairs.length;
  byId("pairs-drawn").max = strongestPairs.length;
  byId("pairs-drawn").addEventListener("input", (event) => { nDrawn = Number(event.target.value); place(); });
  place();
  let wide = 0;
  new ResizeObserver(() => { if (canvas.clientWidth !== wide) { wide = canvas.clientWidth; fit(SMALLEST); } }).observe(canvas);

  // Names that match are lit up, the others fade.
  function find(matches) {
    boxes.forEach((box, k) => box.group.classList.toggle("faded", matches !== null && !matches.has(k)));
  }

  function update(codes, pinned, answer) {
    const largest = Math.max(1, ...answer.parts.map((part) => (Number.isFinite(part.value) ? Math.abs(part.value) : 0)));
    const values = new Map(answer.parts.filter((part) => !(part.pair >= 0)).map((part) => [part.node, part.value]));
    nodes.forEach((node, k) => {
      const { group, name, value } = boxes[k];
      const said = k === target ? answer.verdict : codes[k] >= 0 ? node.states[codes[k]] : "";
      value.textContent = cut(said, Math.floor((node.width - 18) / 6.2));
      name.setAttribute("y", said ? 13 : height / 2);
      group.classList.toggle("known", k !== target && codes[k] >= 0);
      group.classList.toggle("pinned", k === pinned);
      group.setAttribute("aria-pressed", String(k === pinned));
      const part = k === target ? 0 : values.get(k) ?? 0;
      group.style.setProperty("--weight", (Math.min(Math.abs(part), largest) / largest).toFixed(3));
      group.classList.toggle("against", part < 0);
      const effect = k !== target && codes[k] >= 0 ? `, adds ${signed(part)}` : "";
      const whole = name.textContent === node.name ? "" : `, in full ${node.name}`;
      group.setAttribute("aria-label", `${name.textContent} ${value.textContent}${effect}${whole}`);
    });
    highlight(pinned, store.state.pair);
  }

  return { update, find, centre, children };
}
