// What the reader has chosen: evidence, pinned node or pair, row, class to compare with; kept in the address after "#".

function makeState(nodes, target, nPairs = 0) {
  const codes = new Array(nodes.length).fill(-1);
  const state = { codes, pinned: -1, pair: -1, row: -1, against: -1 };
  const listeners = [];
  let own = "";

  const whole = (text, limit) => (/^\d+$/.test(text ?? "") && Number(text) < limit ? Number(text) : -1);

  function fragment() {
    const parts = [];
    const known = range(target).filter((node) => codes[node] >= 0);
    if (known.length) parts.push("e=" + known.map((node) => `${node}.${codes[node]}`).join("-"));
    if (state.row >= 0) parts.push(`row=${state.row}`);
    if (state.pinned >= 0) parts.push(`pin=${state.pinned}`);
    if (state.pair >= 0) parts.push(`pair=${state.pair}`);
    if (state.against >= 0) parts.push(`vs=${state.against}`);
    return parts.join("&");
  }

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    codes.fill(-1);
    for (const pair of (given.get("e") ?? "").split("-")) {
      const [node, code] = pair.split(".");
      const number = whole(node, target);
      if (number >= 0) codes[number] = whole(code, nodes[number].states.length);
    }
    state.pinned = whole(given.get("pin"), nodes.length);
    state.pair = state.pinned < 0 ? whole(given.get("pair"), nPairs) : -1;
    state.against = whole(given.get("vs"), nodes[target].states.length);
    state.row = whole(given.get("row"), Infinity);
  }

  function tell() {
    listeners.forEach((listener) => listener(state));
  }

  function changed() {
    own = fragment();
    history.replaceState(null, "", own ? `#${own}` : location.pathname + location.search);
    tell();
  }

  // An address that names a section is a jump within the page and leaves the evidence alone.
  addEventListener("hashchange", () => {
    const hash = location.hash.slice(1);
    if (hash !== own && hash.includes("=")) { own = hash; read(); tell(); }
  });

  return {
    state,
    listen: (listener) => listeners.push(listener),
    start: () => { if (location.hash.includes("=")) read(); tell(); },
    set: (node, code) => { codes[node] = code; state.row = -1; changed(); },
    load: (values, row) => { values.forEach((code, node) => { codes[node] = code; }); state.row = row; changed(); },
    clear: () => { codes.fill(-1); state.row = -1; changed(); },
    pin: (node) => { state.pinned = node; state.pair = -1; changed(); },
    pinPair: (pair) => { state.pair = pair; state.pinned = -1; changed(); },
    compare: (label) => { state.against = label; changed(); },
    link: () => `${location.href.split("#")[0]}#${fragment()}`,
  };
}
