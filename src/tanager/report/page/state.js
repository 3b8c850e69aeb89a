// What the reader has chosen: evidence, pinned node or pair, row, class to compare with; kept in the address after "#".
//
// Evidence is a state for each attribute (`codes`, -1 for unknown), and for numbers the number itself (`values`, null
// where only the bin is known). `from` is the row that was loaded last, as it is in the table; `locked` holds the
// attributes that the search for a change of the decision leaves alone.

const MAX_UNDO = 100;

function makeState(nodes, target, nPairs = 0) {
  const codes = new Array(nodes.length).fill(-1);
  const values = new Array(nodes.length).fill(null);
  const state = { codes, values, pinned: -1, pair: -1, row: -1, against: -1, from: null, locked: new Set() };
  const listeners = [], before = [];
  let own = "";

  const whole = (text, limit) => (/^\d+$/.test(text ?? "") && Number(text) < limit ? Number(text) : -1);
  // The bin of a number: as many cuts lie at or below it.
  const binOf = (node, value) => nodes[node].cuts.filter((cut) => cut <= value).length;

  function fragment() {
    const parts = [];
    const known = range(target).filter((node) => codes[node] >= 0);
    const numbers = known.filter((node) => values[node] !== null);
    if (known.length) parts.push("e=" + known.map((node) => `${node}.${codes[node]}`).join("-"));
    if (numbers.length && state.row < 0) parts.push("x=" + numbers.map((node) => `${node}:${values[node]}`).join("_"));
    if (state.row >= 0) parts.push(`row=${state.row}`);
    if (state.pinned >= 0) parts.push(`pin=${state.pinned}`);
    if (state.pair >= 0) parts.push(`pair=${state.pair}`);
    if (state.against >= 0) parts.push(`vs=${state.against}`);
    return parts.join("&");
  }

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    codes.fill(-1);
    values.fill(null);
    for (const pair of (given.get("e") ?? "").split("-")) {
      const [node, code] = pair.split(".");
      const number = whole(node, target);
      if (number >= 0) codes[number] = whole(code, nodes[number].states.length);
    }
    for (const pair of (given.get("x") ?? "").split("_")) {
      const [node, value] = pair.split(":"), number = whole(node, target);
      if (number >= 0 && Number.isFinite(Number(value)) && nodes[number].kind === "numeric" && binOf(number, Number(value)) === codes[number]) values[number] = Number(value);
    }
    state.pinned = whole(given.get("pin"), nodes.length);
    state.pair = state.pinned < 0 ? whole(given.get("pair"), nPairs) : -1;
    state.against = whole(given.get("vs"), nodes[target].states.length);
    state.row = whole(given.get("row"), Infinity);
    state.from = null;
  }

  function tell() {
    listeners.forEach((listener) => listener(state));
  }

  function changed() {
    own = fragment();
    history.replaceState(null, "", own ? `#${own}` : location.pathname + location.search);
    tell();
  }

  function remember() {
    before.push({ codes: codes.slice(), values: values.slice(), row: state.row, from: state.from });
    if (before.length > MAX_UNDO) before.shift();
  }

  function put(list, numbers = []) {
    list.forEach((code, node) => { codes[node] = code; values[node] = numbers[node] ?? null; });
  }

  // An address that names a section is a jump within the page and leaves the evidence alone.
  addEventListener("hashchange", () => {
    const hash = location.hash.slice(1);
    if (hash !== own && hash.includes("=")) { own = hash; read(); tell(); }
  });

  function setMany(cells) {
    remember();
    cells.forEach(({ node, code, value = null }) => { codes[node] = code; values[node] = value; });
    state.row = -1;
    changed();
  }

  return {
    state,
    binOf,
    listen: (listener) => listeners.push(listener),
    start: () => { if (location.hash.includes("=")) read(); tell(); },
    set: (node, code, value = null) => setMany([{ node, code, value }]),
    setMany,
    load: (list, row, numbers = []) => { remember(); put(list, numbers); state.row = row; state.from = { row, codes: codes.slice(), values: values.slice() }; changed(); },
    clear: () => { remember(); codes.fill(-1); values.fill(null); state.row = -1; state.from = null; changed(); },
    undo: () => {
      if (!before.length) return;
      const last = before.pop();
      put(last.codes, last.values);
      state.row = last.row;
      state.from = last.from;
      changed();
    },
    canUndo: () => before.length > 0,
    lock: (node) => { if (!state.locked.delete(node)) state.locked.add(node); tell(); },
    refresh: tell,
    pin: (node) => { state.pinned = node; state.pair = -1; changed(); },
    pinPair: (pair) => { state.pair = pair; state.pinned = -1; changed(); },
    compare: (label) => { state.against = label; changed(); },
    link: () => `${location.href.split("#")[0]}#${fragment()}`,
  };
}
