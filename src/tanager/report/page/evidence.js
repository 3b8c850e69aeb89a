// Evidence in raw values: a number with its slider over the curve of the attribute, a date, or a choice of categories.

const SLIDES = 1000;
const DAY = 86_400_000_000; // microseconds, in which dates and times are held

// Numbers as they are written in the table, dates as dates.
function rawText({ unit }, value) {
  if (unit === "date" || unit === "datetime") {
    const moment = new Date(value / 1000);
    if (Number.isNaN(moment.getTime())) return String(value);
    return moment.toISOString().slice(0, unit === "date" && value % DAY === 0 ? 10 : 19).replace("T", " ");
  }
  return String(Number(value.toPrecision(12)));
}

// What a cell holds, in words: its number where that is known, else its state; "not given" without either.
function cellWords(node, code, value) {
  if (code < 0) return "not given";
  return value === null || value === undefined ? node.states[code] : rawText(node, value);
}

// A number with few digits that is in the same bin and near.
function roundInto(node, value, near) {
  const { cuts } = node;
  const bin = (x) => cuts.filter((cut) => cut <= x).length;
  const fits = (x) => bin(x) === bin(value) && Math.abs(x - value) <= near;
  if (node.unit === "date" && fits(Math.round(value / DAY) * DAY)) return Math.round(value / DAY) * DAY;
  if (cuts.every((cut) => Number.isInteger(2 * cut)) && bin(Math.round(value)) === bin(value)) return Math.round(value);
  for (let digits = 1; digits < 15; digits++) if (fits(Number(value.toPrecision(digits)))) return Number(value.toPrecision(digits));
  return value;
}

// Places of the slider, 0 to 1, and numbers: linear between the edges of the bins, which are those of the curve.
function makeScale(node) {
  const { cuts } = node;
  const { edges } = binPlaces(cuts, node.cut_labels);
  const first = cuts.length > 1 ? cuts[1] - cuts[0] : Math.abs(cuts[0]) * 0.1 || 1, last = cuts.length > 1 ? cuts.at(-1) - cuts.at(-2) : first;
  const ends = [cuts[0] - Math.max(first, (edges[1] * (cuts.at(-1) - cuts[0])) || first), ...cuts, cuts.at(-1) + Math.max(last, (edges[1] * (cuts.at(-1) - cuts[0])) || last)];
  const near = (ends.at(-1) - ends[0]) / SLIDES;
  const between = (x, from, to) => {
    const k = Math.min(from.length - 2, Math.max(0, from.findLastIndex((edge) => edge <= x)));
    const share = from[k + 1] > from[k] ? (x - from[k]) / (from[k + 1] - from[k]) : 0;
    return to[k] + Math.min(1, Math.max(0, share)) * (to[k + 1] - to[k]);
  };
  return { edges, place: (value) => between(value, ends, edges), value: (place) => roundInto(node, between(Math.min(place, 0.9999), edges, ends), near) };
}

// The curve of an attribute as wide as its slider.
function underSlider(network, k, c, scale) {
  const { states, largest } = mainEffect(network, k, c);
  const y = (value) => (14 - (12 * value) / Math.max(1e-9, largest)).toFixed(1);
  const points = states.slice(0, scale.edges.length - 1).flatMap(({ value }, s) => [scale.edges[s], scale.edges[s + 1]].map((x) => `${(100 * x).toFixed(2)},${y(value)}`));
  return svg("svg", { class: "under", viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("line", { class: "zero", x1: 0, x2: 100, y1: 14, y2: 14 }), svg("polyline", { class: "line main", points: points.join(" ") }),
    svg("line", { class: "own", y1: 0, y2: 28, x1: -9, x2: -9 }));
}

function numberControls(network, k, c, store, curve) {
  const node = network.nodes[k];
  const scale = makeScale(node);
  const kind = { date: "date", datetime: "datetime-local" }[node.unit] ?? "text";
  const field = el("input", { id: `attribute-${k}`, type: kind, inputmode: kind === "text" ? "decimal" : null, step: kind === "datetime-local" ? 1 : null, placeholder: "not given", autocomplete: "off" });
  const slider = el("input", { type: "range", min: 0, max: SLIDES, step: 1, class: "idle", "aria-label": `${node.name}, slider` });
  const picture = curve ? underSlider(network, k, c, scale) : null;
  const read = () => {
    const text = field.value.trim();
    if (text === "") return null;
    return kind === "text" ? Number(text.replace(",", ".")) : 1000 * Date.parse(`${text}${kind === "date" ? "" : "Z"}`);
  };
  field.addEventListener("change", () => {
    const number = read(), fine = number === null || Number.isFinite(number);
    field.toggleAttribute("data-wrong", !fine);
    field.setAttribute("aria-invalid", String(!fine));
    if (fine) store.set(k, number === null ? -1 : store.binOf(k, number), number);
  });
  slider.addEventListener("input", () => { const value = scale.value(slider.value / SLIDES); store.set(k, store.binOf(k, value), value); });

  function update(code, value) {
    const known = code >= 0 && code <= node.cuts.length;
    if (!field.hasAttribute("data-wrong") || known) {
      const text = known && value !== null ? rawText(node, value) : "";
      const wanted = kind === "datetime-local" ? text.replace(" ", "T") : text;
      if (document.activeElement !== field || read() !== value) field.value = wanted;
      field.placeholder = known ? node.states[code] : code >= 0 ? "missing" : "not given";
      field.removeAttribute("data-wrong");
      field.setAttribute("aria-invalid", "false");
    }
    slider.classList.toggle("idle", !known);
    if (known) {
      const place = value === null ? (scale.edges[code] + scale.edges[code + 1]) / 2 : scale.place(value);
      if (document.activeElement !== slider) slider.value = Math.round(SLIDES * place);
    }
    slider.setAttribute("aria-valuetext", cellWords(node, code, value));
  }

  function mark(value) {
    const x = value === null || value === undefined ? -9 : 100 * scale.place(value);
    const line = picture?.querySelector(".own");
    line?.setAttribute("x1", x);
    line?.setAttribute("x2", x);
  }
  const missing = node.missing_state ? el("button", { type: "button", class: "quiet", onclick: () => store.set(k, node.states.length - 1) }, "missing") : null;
  const forget = el("button", { type: "button", class: "quiet", "aria-label": `${node.name} not given`, onclick: () => { field.value = ""; store.set(k, -1); } }, "×");
  return { parts: [el("div", { class: "fields" }, field, missing, forget), el("div", { class: "slide" }, picture, slider)], update, mark };
}

function choiceControls(node, k, store) {
  const select = el("select", { id: `attribute-${k}`, disabled: node.states.length < 2, onchange: (event) => store.set(k, Number(event.target.value)) },
    el("option", { value: "-1" }, "not given"), node.states.map((state, code) => el("option", { value: code }, state)));
  return { parts: [el("div", { class: "fields" }, select)], update: (code) => { select.value = String(code); }, mark: () => {} };
}

function makeEvidence(network, target, store) {
  const { nodes } = network;
  const c = usualClass(network);
  const cards = range(target).map((k) => {
    const node = nodes[k], { name } = node;
    const numbers = node.kind === "numeric" && node.cuts.length && node.unit !== "duration";
    const controls = numbers ? numberControls(network, k, c, store, network.kind === "effects") : choiceControls(node, k, store);
    const lock = el("button", { type: "button", class: "quiet lock", "aria-pressed": "false", title: "May this cell change the decision?", onclick: () => store.lock(k) }, "lock");
    const own = el("button", { type: "button", class: "link own-value", hidden: true, onclick: () => { const { codes, values } = store.state.from; store.set(k, codes[k], values[k]); } });
    const card = el("div", { class: "attribute" }, el("div", { class: "naming" }, el("label", { for: `attribute-${k}`, title: name }, name), lock), ...controls.parts, own);
    return { card, lock, own, ...controls };
  });
  const find = el("input", { id: "find-evidence", type: "search", autocomplete: "off", spellcheck: "false" });
  const undo = el("button", { type: "button", id: "undo", onclick: store.undo }, "Undo");
  find.addEventListener("input", () => {
    const words = find.value.trim().toLowerCase();
    show(words ? new Set(range(target).filter((k) => nodes[k].name.toLowerCase().includes(words))) : null);
  });
  byId("attributes").before(el("label", { class: "search" }, "Find ", find));
  const zero = network.kind === "effects" ? idleNodes(network, target) : [], idle = new Set(zero.length < target ? zero : []);
  byId("attributes").append(...cards.map(({ card }) => card));
  if (idle.size) byId("attributes").after(el("p", { class: "muted small", id: "left-out" }, `${plural(idle.size, "attribute")} without any effect ${idle.size === 1 ? "is" : "are"} left out here; Find shows ${idle.size === 1 ? "it" : "them"}.`));
  byId("clear").before(undo);
  byId("clear").addEventListener("click", store.clear);
  byId("share").addEventListener("click", async () => {
    const button = byId("share");
    try { await navigator.clipboard.writeText(store.link()); button.textContent = "Link copied"; } catch { button.textContent = "The link is in the address bar"; }
    setTimeout(() => { button.textContent = "Copy link"; }, 2500);
  });

  function update({ codes, values, from, locked }) {
    let moved = 0;
    cards.forEach(({ card, lock, own, update: show, mark }, k) => {
      show(codes[k], values[k]);
      card.classList.toggle("known", codes[k] >= 0);
      lock.setAttribute("aria-pressed", String(locked.has(k)));
      lock.textContent = locked.has(k) ? "locked" : "lock";
      lock.setAttribute("aria-label", `${locked.has(k) ? "Unlock" : "Lock"} ${nodes[k].name}`);
      const changed = from !== null && (from.codes[k] !== codes[k] || (from.values[k] ?? null) !== (values[k] ?? null));
      moved += changed;
      card.classList.toggle("changed", changed);
      own.hidden = !changed;
      own.textContent = changed ? `row ${from.row}: ${cellWords(nodes[k], from.codes[k], from.values[k])}` : "";
      own.setAttribute("aria-label", changed ? `Back to ${own.textContent}` : "");
      mark(changed ? from.values[k] : null);
    });
    undo.disabled = !store.canUndo();
    const known = codes.filter((code) => code >= 0).length;
    byId("known").textContent = `${known} of ${plural(target, "attribute")} given${moved ? `, ${moved} changed from row ${from.row}` : ""}`;
  }

  function show(matches) {
    cards.forEach(({ card }, k) => { card.hidden = matches === null ? idle.has(k) : !matches.has(k); });
  }
  show(null);

  return { update, find: show };
}

// What models that had not seen a row predicted for it: of the errors and the examples.
function heldOutAnswers({ quality, mistakes, examples }, classes) {
  if (!quality?.split) return new Map();
  const answers = [...(mistakes ?? []), ...(examples ?? []).map((line) => line.slice(1))];
  return new Map(answers.map(([row, , said, , p]) => [row, `; a model that had not seen this row predicts ${classes[said]} (${percent(p)})`]));
}

// Row numbers are those of the file, where it is known, or count from 0. Of a table too long for the page every so many rows are here.
function makeRows(network, target, rows, heldOut, store) {
  const { nodes } = network;
  const classes = nodes[target].states;
  const { numbers, every: step, placeOf } = rows, first = numbers[0], last = numbers.at(-1);
  const number = el("input", { id: "row-number", type: "number", min: first, max: last, inputmode: "numeric" });
  const about = el("span", { class: "muted", "aria-live": "polite" });
  let problem = "";
  const codesOf = (k) => range(target).map((node) => { const code = rows.codes[k * target + node]; return code < nodes[node].states.length ? code : -1; });
  // The cells of columns of numbers, one column after the other.
  const valuesOf = (k) => {
    const found = new Array(target).fill(null);
    if (rows.values) rows.numeric.forEach((node, position) => {
      const value = rows.values[position * rows.kept + k];
      if (nodes[node].kind === "numeric" && nodes[node].cuts.length && Number.isFinite(value)) found[node] = value;
    });
    return found;
  };
  const show = (k) => { problem = ""; store.load(codesOf(k), numbers[k], valuesOf(k)); };
  const current = () => placeOf(store.state.row >= 0 ? store.state.row : store.state.from?.row ?? -1);
  const turn = (by) => show((current() + by + rows.kept) % rows.kept);
  const button = (text, act) => el("button", { type: "button", onclick: act }, text);
  number.addEventListener("change", () => {
    if (number.value === "") return;
    const k = placeOf(Number(number.value));
    if (k >= 0) { show(k); return; }
    problem = `there is no row ${number.value}: rows ${first.toLocaleString("en")} to ${last.toLocaleString("en")} are here`;
    update(store.state);
  });
  const toError = () => { const next = rows.wrong.find((k) => k > current()) ?? rows.wrong[0]; show(next); };
  byId("rows").append(el("label", {}, "Row ", number), button("Previous", () => turn(current() < 0 ? 0 : -1)), button("Next", () => turn(1)),
    ...(rows.wrong?.length ? [button("Next error", toError)] : []), about);

  // A link names the row only: its numbers are here.
  function complete(state) {
    const k = placeOf(state.row);
    if (k < 0 || state.from?.row === state.row) return;
    const values = valuesOf(k), codes = codesOf(k);
    if (!codes.every((code, node) => code === state.codes[node])) return;
    values.forEach((value, node) => { state.values[node] = value; });
    state.from = { row: state.row, codes, values };
  }

  function update({ row: asked, from }) {
    const row = placeOf(asked) < 0 ? -1 : asked;
    if (!problem) number.value = row >= 0 ? String(row) : from ? String(from.row) : "";
    const here = row >= 0 ? row : from?.row ?? -1;
    const truth = here >= 0 && rows.classes ? `true class: ${classes[rows.classes[placeOf(here)]]}${heldOut.get(here) ?? ""}` : "";
    const some = step > 1 ? ` (every ${step.toLocaleString("en")}th is here)` : "";
    about.textContent = problem || truth || `of ${plural(rows.count, "row")}, from ${first.toLocaleString("en")} to ${last.toLocaleString("en")}${some}`;
  }

  return { update, complete, load: show };
}
