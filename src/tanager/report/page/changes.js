// What would change the decision? The smallest changes of one or two cells, as `tanager.explain.counterfactuals` finds them.

const MOST_CHANGES = 3;
const SEARCH_TIME = 2500; // milliseconds, where each change has to be answered for by the whole model

// The class decided for, as `tanager.decide` does it; one more than there are where a person is to be asked.
function makeDecide(decision, nClasses) {
  const highest = (list) => list.indexOf(Math.max(...list));
  if (!decision) return Object.assign(highest, { most: true });
  if (decision.threshold !== undefined) {
    const { positive, threshold } = decision;
    return (proba) => (proba[positive] >= threshold ? positive : highest(Array.from(proba, (p, c) => (c === positive ? -Infinity : p))));
  }
  return (proba) => {
    const costs = range(nClasses).map((k) => range(nClasses).reduce((sum, c) => sum + proba[c] * decision.costs[c][k], 0));
    if (decision.ask !== null) costs.push(decision.ask);
    return costs.indexOf(Math.min(...costs));
  };
}

function makeChanges(network, target, model, decide) {
  const { nodes } = network;
  const hasOrder = ({ kind, ordered }) => kind === "numeric" || ordered;

  // The share of the training rows that a change passes; of a category without order, of those not in the new one.
  function reach(k, code) {
    const { states, missing_state: missing, density } = nodes[k];
    const share = (s) => (density ? density[s] : 1 / states.length);
    const real = states.length - (missing ? 1 : 0);
    let below = 0;
    const middles = states.map((_, s) => { below += share(s); return below - share(s) / 2; });
    return range(real).filter((s) => s !== code)
      .map((s) => ({ state: s, size: hasOrder(nodes[k]) && code < real ? Math.abs(middles[s] - middles[code]) : 1 - share(s) }));
  }

  const free = (codes, locked) => range(target).filter((k) => codes[k] >= 0 && !locked.has(k));
  const found = (size, cells) => ({ size, cells });
  const bySize = (a, b) => a.size - b.size || a.cells[0].node - b.cells[0].node;
  const best = (list) => list.sort(bySize).slice(0, MOST_CHANGES);

  // Sums of effects are made of parts: what a change of one cell adds, what the pair of two adds beyond, and the trees.
  function additive(codes, locked, { lookUp, addTrees }) {
    const end = performance.now() + SEARCH_TIME;
    const base = lookUp(codes), nClasses = base.length, now = decide(normalize(addTrees(codes, base.slice())));
    const table = new Map(network.pairs.map((pair) => [`${pair.parent}.${pair.child}`, pair]));
    // The most probable class has the highest sum.
    const most = (logs) => { let at = 0; for (let c = 1; c < nClasses; c++) if (logs[c] > logs[at]) at = c; return at; };
    const crosses = (logs) => (decide.most ? most(logs) : decide(normalize(logs))) !== now;
    const moves = new Map(free(codes, locked).map((k) => [k, reach(k, codes[k]).map((move) => {
      const changed = codes.with(k, move.state), logs = lookUp(changed);
      return { ...move, added: logs.map((value, c) => value - base[c]), alone: crosses(addTrees(changed, logs)) };
    }).sort((a, b) => a.size - b.size)]));
    const singles = [], pairs = [];
    for (const [k, list] of moves) {
      const hits = list.filter(({ alone }) => alone);
      if (hits.length) singles.push(found(hits[0].size, [{ node: k, state: hits[0].state }]));
    }
    const attributes = [...moves.keys()], logs = new Float64Array(nClasses), changed = codes.slice();
    let complete = true;
    attributes.forEach((i, first) => attributes.slice(first + 1).forEach((j) => {
      const pair = table.get(`${i}.${j}`) ?? table.get(`${j}.${i}`);
      const at = (a, b) => (pair.parent === i ? network.pairCell(pair, a, b) : network.pairCell(pair, b, a));
      // No larger change than the last of those that will be shown.
      let least = pairs.length < MOST_CHANGES ? Infinity : pairs[MOST_CHANGES - 1].size, cells = null;
      if (performance.now() > end) { complete = false; return; }
      for (const one of moves.get(i)) {
        if (one.size >= least) break;
        if (one.alone) continue;
        for (const two of moves.get(j)) {
          if (one.size + two.size >= least) break;
          if (two.alone) continue;
          for (let c = 0; c < nClasses; c++) {
            logs[c] = base[c] + one.added[c] + two.added[c];
            if (pair) logs[c] += pair.table[at(one.state, two.state) + c] - pair.table[at(one.state, codes[j]) + c] - pair.table[at(codes[i], two.state) + c] + pair.table[at(codes[i], codes[j]) + c];
          }
          changed[i] = one.state;
          changed[j] = two.state;
          if (crosses(addTrees(changed, logs))) { least = one.size + two.size; cells = [{ node: i, state: one.state }, { node: j, state: two.state }]; }
        }
      }
      changed[i] = codes[i];
      changed[j] = codes[j];
      if (cells) { pairs.push(found(least, cells)); pairs.sort(bySize); }
    }));
    return { now, changes: [...best(singles), ...best(pairs)], complete };
  }

  // Each change is answered for by the whole model, the smallest first, for as long as a reader will wait.
  function oneByOne(codes, locked) {
    const end = performance.now() + SEARCH_TIME, now = decide(model.posterior(codes));
    const crosses = (cells) => {
      const changed = codes.slice();
      cells.forEach(({ node, state }) => { changed[node] = state; });
      const proba = model.posterior(changed);
      return proba !== null && decide(proba) !== now;
    };
    const moves = free(codes, locked).flatMap((node) => reach(node, codes[node]).map((move) => ({ node, ...move }))).sort((a, b) => a.size - b.size);
    const singles = new Map(), pairs = new Map(), left = [];
    for (const move of moves) {
      if (performance.now() > end) return { now, changes: best([...singles.values()]), complete: false };
      if (!crosses([move])) left.push(move);
      else if (!singles.has(move.node)) singles.set(move.node, found(move.size, [move]));
    }
    const both = left.flatMap((one, k) => left.slice(k + 1).filter((two) => two.node !== one.node).map((two) => found(one.size + two.size, one.node < two.node ? [one, two] : [two, one]))).sort(bySize);
    let complete = true;
    for (const change of both) {
      const key = change.cells.map(({ node }) => node).join();
      if (pairs.has(key)) continue;
      if (performance.now() > end) { complete = false; break; }
      if (crosses(change.cells)) pairs.set(key, change);
      if (pairs.size === MOST_CHANGES) break;
    }
    return { now, changes: [...best([...singles.values()]), ...best([...pairs.values()])], complete };
  }

  return function find(codes, locked) {
    const parts = model.parts();
    const whole = range(target).every((k) => codes[k] >= 0);
    return parts && (whole || !parts.averages) ? additive(codes, locked, parts) : oneByOne(codes, locked);
  };
}

// The nearest number in a new bin: its first above, one just within below.
function nearestValue(node, code, state) {
  if (node.kind !== "numeric" || !node.cuts.length || state > node.cuts.length) return null;
  if (state > code) return node.cuts[state - 1];
  const low = state > 0 ? node.cuts[state - 1] : node.cuts[state] - (Math.abs(node.cuts[state]) * 0.1 || 1);
  const width = node.cuts[state] - low;
  return roundInto(node, node.cuts[state] - width * 1e-3, width * 0.05);
}

function showChanges(network, target, find, model, decide, store) {
  const { nodes } = network;
  const classes = nodes[target].states;
  const word = (c) => classes[c] ?? "ask a person";
  const result = el("div", { class: "changes", "aria-live": "polite" });
  const button = el("button", { type: "button", id: "change", onclick: () => search() }, "What would change the decision?");
  byId("problem").after(button, result);
  let shown = "";

  function search() {
    const { codes, values, locked } = store.state;
    const { changes, complete } = find(codes.slice(), locked);
    shown = JSON.stringify([codes, [...locked]]);
    const item = ({ cells, size }) => {
      const changed = codes.slice();
      cells.forEach(({ node, state }) => { changed[node] = state; });
      const proba = model.posterior(changed), decided = decide(proba);
      const steps = cells.map(({ node, state }) => el("span", {}, el("strong", {}, nodes[node].name), ` ${/^[<>]/.test(nodes[node].states[state]) ? "" : nodes[node].kind === "numeric" ? "in " : "= "}${nodes[node].states[state]}`,
        el("span", { class: "muted" }, ` (now ${cellWords(nodes[node], codes[node], values[node])})`)));
      const put = () => store.setMany(cells.map(({ node, state }) => ({ node, code: state, value: nearestValue(nodes[node], codes[node], state) })));
      return el("li", {}, el("p", {}, el("strong", {}, word(decided)), decided < classes.length ? ` (${percent(proba[decided])})` : "", " if ", steps.flatMap((step, k) => (k ? [" and ", step] : [step]))),
        el("p", { class: "muted small" }, `size: ${percent(size)} of the training rows `, el("button", { type: "button", class: "link", onclick: put }, "try it")));
    };
    const notes = [changes.length ? "The smallest change first. Its size is the share of training rows whose value lies between the old and the new one; shares of two cells are added." : complete ? "No change of one or two cells changes the decision." : "None was found.",
      complete ? null : "Not every change was tried here; tanager explain --change tries all.", locked.size ? `${plural(locked.size, "attribute")} locked.` : "Lock what cannot change, with the buttons of the evidence."];
    result.replaceChildren(...(changes.length ? [el("ol", {}, changes.map(item))] : []), el("p", { class: "muted small" }, notes.filter(Boolean).join(" ")));
  }

  return { update: ({ codes, locked }) => { if (shown && shown !== JSON.stringify([codes, [...locked]])) { shown = ""; result.replaceChildren(); } button.disabled = !codes.some((code) => code >= 0); } };
}
