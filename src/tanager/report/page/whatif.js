// The what-if panel: evidence in, class probabilities and their reasons out.

const MAX_CLASSES_SHOWN = 12;
const MAX_REASONS_SHOWN = 12;
const LONG_NAME = 12;
const NO_BASELINE = 5e-5; // a smaller one is not worth a line, as in `tanager.explain`

function explained({ kind, pairs, trees }) {
  if (kind === "tables") return "each known attribute, given its parents, adds its part.";
  const alone = trees ? "each attribute adds its effect and its part of the trees" : "each attribute adds its effect";
  return pairs.length ? `${alone}, and each pair what it says beyond them.` : `${alone}.`;
}

function makeOutcome(network, target, model, gaps, base, store) {
  const { nodes } = network;
  const classes = nodes[target].states;
  let allReasons = false;
  byId("outcome-title").append(el("span", { class: "muted" }, "Probability of "), nodes[target].name);
  const choice = byId("against");
  choice.append(el("option", { value: "-1" }, "the runner-up"), ...classes.map((name, c) => el("option", { value: c }, name)));
  choice.addEventListener("change", () => store.compare(Number(choice.value)));

  // Favoured is the most probable class, or the best of the others where that is the one compared with.
  function answer(codes, against) {
    try { return find(codes, against); } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return failed(`This cannot be answered here: ${error.message}. Set a few more attributes.`);
    }
  }

  function find(codes, against) {
    const proba = model.posterior(codes);
    if (!proba) return failed("This evidence has probability zero under the network, whatever the class.");
    const ranked = range(classes.length).sort((a, b) => proba[b] - proba[a] || a - b);
    const favoured = ranked[0] === against ? ranked[1] : ranked[0];
    const other = against >= 0 ? against : ranked[1];
    const parts = model.contributions(codes, favoured, other);
    return { proba, ranked, favoured, other, parts, verdict: `${cut(classes[ranked[0]], 30)} (${percent(proba[ranked[0]])})` };
  }

  const failed = (problem) => ({ proba: null, parts: [], verdict: "?", problem });

  // Long names have a line to themselves above the bars.
  byId("classes").classList.toggle("long", classes.some((name) => name.length > LONG_NAME));
  const bars = classes.map((name) => {
    const fill = el("span", { class: "fill" }), figure = el("span", { class: "figure" });
    return { fill, figure, row: el("div", { class: "class-row" }, el("span", { class: "label", title: name }, name), el("span", { class: "track" }, fill), figure) };
  });

  function showClasses({ proba, ranked, favoured, other }) {
    const shown = classes.length <= MAX_CLASSES_SHOWN ? range(classes.length) : ranked.slice(0, MAX_CLASSES_SHOWN);
    shown.forEach((c) => {
      bars[c].row.className = `class-row ${c === favoured ? "favoured" : c === other ? "other" : ""}`;
      bars[c].fill.style.width = `${100 * proba[c]}%`;
      bars[c].figure.textContent = percent(proba[c]);
      bars[c].figure.title = String(proba[c]);
    });
    const rest = classes.length - shown.length;
    byId("classes").replaceChildren(...shown.map((c) => bars[c].row),
      ...(rest ? [el("p", { class: "muted small" }, `and ${plural(rest, "less probable class").replace("classs", "classes")}`)] : []));
  }

  function label(part, codes) {
    if (part.node === target) return part.base ? ["base rate", `of ${nodes[target].name}`] : ["baseline:", base.baseline];
    if (part.rest) return [gaps.rest, gaps.meaning];
    const both = part.other === undefined ? [part.node] : [part.node, part.other];
    return [both.map((node) => nodes[node].name).join(" & "), both.map((node) => words(node, codes[node], part)).join(" & ")];
  }

  // "< 2" and ">= 3" say themselves how they stand to the name. A pair knows the coarse states.
  function words(node, code, part) {
    if (code < 0) return "unknown";
    if (part.other !== undefined) return nodes[node].coarse[nodes[node].groups[code]];
    const state = nodes[node].states[code];
    return nodes[node].kind === "numeric" && /^[<>]/.test(state) ? state : `= ${state}`;
  }

  function showReasons({ parts, favoured, other }, codes) {
    const first = parts.filter((part) => part.node === target && (part.base || Math.abs(part.value) >= NO_BASELINE));
    const known = (part) => codes[part.node] >= 0 && !(codes[part.other] < 0);
    const rest = parts.filter((part) => part.node !== target && known(part));
    const unknown = parts.filter((part) => part.node !== target && !part.rest && !known(part));
    const shown = allReasons ? rest : rest.slice(0, MAX_REASONS_SHOWN);
    const hidden = rest.slice(shown.length);
    const what = network.kind === "effects" ? "effect" : "attribute";
    const row = (part) => ({ words: label(part, codes), value: part.value, summed: part.summed });
    const together = (list, words) => (list.length ? [{ words, value: list.reduce((sum, part) => sum + part.value, 0), summed: [] }] : []);
    const rows = [...first.map(row), ...shown.map(row), ...together(hidden, [plural(hidden.length, `other ${what}`), ""]),
      ...together(unknown, ["unknown attributes", "at their means"]),
      ...parts.filter((part) => part.rest).map(row)];
    const total = parts.reduce((sum, part) => sum + part.value, 0);
    let at = 0;
    for (const each of rows) { each.from = at; at += each.value; each.to = at; }
    rows.push({ words: ["log odds", ""], value: total, from: 0, to: total, total: true, summed: [] });
    const finite = rows.flatMap(({ from, to }) => [from, to]).filter(Number.isFinite);
    const low = Math.min(0, ...finite), high = Math.max(0, ...finite), span = high - low || 1;
    const place = (x) => `${(100 * (Math.min(high, Math.max(low, x)) - low)) / span}%`;
    const list = el("ol", { class: "waterfall", "--zero": place(0) }, rows.map((row) => {
      const start = Math.min(row.from, row.to), end = Math.max(row.from, row.to);
      const summed = row.summed.length ? `Unknown and summed out with it: ${row.summed.map((node) => nodes[node].name).join(", ")}` : null;
      return el("li", { class: row.total ? "total" : null, title: summed },
        el("span", { class: "label", title: row.words.join(" ") }, row.words[0], " ", el("span", { class: "muted" }, row.words[1]),
          summed ? el("span", { class: "mark", "aria-hidden": "true" }, " ∑") : null, summed ? el("span", { class: "sr" }, summed) : null),
        el("span", { class: "figure", title: String(row.value) }, signed(row.value)),
        el("span", { class: "lane", "aria-hidden": "true" }, Number.isNaN(start) ? null
          : el("span", { class: row.value < 0 ? "step against" : "step", "--from": place(start), "--to": place(end) })));
    }));
    const button = hidden.length || (allReasons && rest.length > MAX_REASONS_SHOWN)
      ? el("button", { type: "button", class: "quiet", onclick: () => { allReasons = !allReasons; showReasons({ parts, favoured, other }, codes); } }, allReasons ? "Show fewer" : "Show all") : null;
    byId("waterfall").replaceChildren(
      el("p", { class: "muted small" }, "Log odds for ", el("span", { class: "favoured-name" }, classes[favoured]), " against ",
        el("span", { class: "other-name" }, classes[other]), `; ${explained(network)} ${gaps.words}${parts.some((part) => part.summed.length) ? " ∑: with this part." : ""}`),
      list, ...(button ? [button] : []));
  }

  function update({ codes, against }) {
    const found = answer(codes, against);
    choice.value = String(against);
    byId("problem").hidden = !found.problem;
    byId("problem").textContent = found.problem ?? "";
    if (found.proba) { showClasses(found); showReasons(found, codes); } else { byId("classes").replaceChildren(); byId("waterfall").replaceChildren(); }
    byId("verdict").replaceChildren(el("span", { class: "muted" }, `${cut(nodes[target].name, 20)}: `), found.verdict);
    return found;
  }

  return { update, answer };
}

function makeEvidence(network, target, store) {
  const { nodes } = network;
  const cards = range(target).map((k) => {
    const { name, states } = nodes[k];
    const select = el("select", { id: `attribute-${k}`, disabled: states.length < 2, onchange: (event) => store.set(k, Number(event.target.value)) },
      el("option", { value: "-1" }, "unknown"), states.map((state, code) => el("option", { value: code }, state)));
    const typed = nodes[k].cuts.length && !nodes[k].cut_labels ? numberField(k) : null;
    return { select, typed, card: el("div", { class: "attribute" }, el("label", { for: `attribute-${k}`, title: name }, name), el("div", { class: "fields" }, select, typed)) };
  });

  // The bin of a number: as many cuts lie at or below it.
  const binOf = (k, number) => nodes[k].cuts.filter((cut) => cut <= number).length;
  function numberField(k) {
    const field = el("input", { type: "text", inputmode: "decimal", placeholder: "value", autocomplete: "off", "aria-label": `Value of ${nodes[k].name}` });
    field.addEventListener("change", () => {
      const text = field.value.trim().replace(",", "."), number = Number(text);
      const fine = text !== "" && Number.isFinite(number);
      field.toggleAttribute("data-wrong", text !== "" && !fine);
      field.setAttribute("aria-invalid", String(text !== "" && !fine));
      if (fine) store.set(k, binOf(k, number));
      else if (text === "") store.set(k, -1);
    });
    return field;
  }
  byId("attributes").append(...cards.map(({ card }) => card));
  byId("clear").addEventListener("click", store.clear);
  byId("share").addEventListener("click", async () => {
    const button = byId("share");
    try { await navigator.clipboard.writeText(store.link()); button.textContent = "Link copied"; } catch { button.textContent = "The link is in the address bar"; }
    setTimeout(() => { button.textContent = "Copy link"; }, 2500);
  });

  function update({ codes }) {
    cards.forEach(({ select, typed, card }, k) => {
      select.value = String(codes[k]);
      // A number typed before goes when another bin is chosen.
      if (typed && typed.value !== "" && !typed.hasAttribute("data-wrong") && binOf(k, Number(typed.value.replace(",", "."))) !== codes[k]) typed.value = "";
      card.classList.toggle("known", codes[k] >= 0);
    });
    const known = codes.filter((code) => code >= 0).length;
    byId("known").textContent = `${known} of ${plural(target, "attribute")} known`;
  }

  function find(matches) {
    cards.forEach(({ card }, k) => { card.hidden = matches !== null && !matches.has(k); });
  }

  return { update, find };
}

// Row numbers are those of the table given; where it was too long for the page, only every so many rows are here.
function makeRows(network, target, rows, store) {
  const { nodes } = network;
  const classes = nodes[target].states;
  const step = rows.every;
  const last = (rows.kept - 1) * step;
  const number = el("input", { id: "row-number", type: "number", min: 0, max: last, step, inputmode: "numeric" });
  const about = el("span", { class: "muted", "aria-live": "polite" });
  const show = (k) => {
    const start = k * target;
    store.load(range(target).map((node) => { const code = rows.codes[start + node]; return code < nodes[node].states.length ? code : -1; }), k * step);
  };
  const current = () => (store.state.row >= 0 ? Math.round(store.state.row / step) : -1);
  const turn = (by) => show((current() + by + rows.kept) % rows.kept);
  const button = (text, act) => el("button", { type: "button", onclick: act }, text);
  number.addEventListener("change", () => {
    const k = Math.round(Number(number.value) / step);
    if (number.value !== "" && k >= 0 && k < rows.kept) show(k);
  });
  const mistake = () => { const next = rows.wrong.find((k) => k > current()) ?? rows.wrong[0]; show(next); };
  byId("rows").append(el("label", {}, "Row ", number), button("Previous", () => turn(current() < 0 ? 0 : -1)), button("Next", () => turn(1)),
    ...(rows.wrong?.length ? [button("Next mistake", mistake)] : []), about);

  function update({ row: asked }) {
    const row = asked > last ? -1 : asked;
    number.value = row < 0 ? "" : String(row);
    const truth = row >= 0 && rows.classes ? `true class: ${classes[rows.classes[current()]]}` : "";
    const some = step > 1 ? ` (every ${step.toLocaleString("en")}th is here)` : "";
    about.textContent = truth || `of ${plural(rows.count, "row")}, from 0${some}`;
  }

  return { update };
}
