// The what-if panel: evidence in, class probabilities and their reasons out.

const MAX_CLASSES_SHOWN = 12;
const MAX_REASONS_SHOWN = 12;
const LONG_NAME = 12;
const NO_BASELINE = 5e-5; // a smaller one is not worth a line, as in `tanager.explain`

function explained({ kind, pairs, trees }) {
  if (kind === "tables") return "each known attribute, given its parents, adds its part.";
  const alone = trees ? "each attribute adds its effect and its part of the trees" : "each attribute adds its effect";
  return pairs.length ? `${alone}, and each pair its effect.` : `${alone}.`;
}

function makeOutcome(network, target, model, missingRule, base, store, decision, intervals) {
  const { nodes } = network;
  const classes = nodes[target].states;
  const decide = makeDecide(decision, classes.length);
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
    return { proba, ranked, favoured, other, parts, decided: decide(proba), verdict: `${cut(classes[ranked[0]], 30)} (${percent(proba[ranked[0]])})` };
  }

  const failed = (problem) => ({ proba: null, parts: [], verdict: "?", problem });

  function decidedWords({ proba, decided }) {
    if (!decision) return "";
    const rule = decision.threshold !== undefined ? `P(${classes[decision.positive]}) ${proba[decision.positive] >= decision.threshold ? "reaches" : "is below"} the threshold ${short(decision.threshold, 4)}` : "the least expected cost";
    return `Decided: ${classes[decided] ?? "ask a person"} (${rule})`;
  }

  // Long names have a line to themselves above the bars.
  byId("classes").classList.toggle("long", classes.some((name) => name.length > LONG_NAME));
  const bars = classes.map((name) => {
    const fill = el("span", { class: "fill" }), figure = el("span", { class: "figure" });
    const reach = intervals ? el("span", { class: "reaches" }) : null, ends = intervals ? el("span", { class: "ends-words muted small" }) : null;
    return { fill, figure, reach, ends, row: el("div", { class: "class-row" }, el("span", { class: "label", title: name }, name), el("span", { class: "track-holder" }, el("span", { class: "track" }, fill), reach), figure, ends) };
  });
  const certainty = intervals ? el("p", { class: "muted small", id: "interval-words" }) : null;

  // The interval of each class as a line across its bar, and in figures.
  function showIntervals({ row }) {
    if (!intervals) return;
    const found = intervals.of(row);
    bars.forEach(({ reach, ends }, c) => {
      reach.hidden = ends.hidden = !found;
      if (!found) return;
      const [low, high] = found[c];
      reach.style.left = `${100 * low}%`;
      reach.style.width = `${100 * (high - low)}%`;
      ends.textContent = `${percent(low).replace(" %", "")} to ${percent(high)}`;
      ends.title = `${low} to ${high}`;
    });
    certainty.textContent = intervals.words(found);
    byId("classes").append(certainty);
  }

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
    if (part.rest) return ["what is not given", missingRule.meaning];
    const both = part.other === undefined ? [part.node] : [part.node, part.other];
    return [both.map((node) => nodes[node].name).join(" & "), both.map((node) => words(node, codes[node], part)).join(" & ")];
  }

  // "< 2" and ">= 3" say themselves how they stand to the name. A pair knows the coarse states.
  function words(node, code, part) {
    if (code < 0) return "not given";
    if (part.other !== undefined) return nodes[node].coarse[nodes[node].groups[code]];
    const state = nodes[node].states[code], value = store.state.values[node];
    if (value !== null && code === store.state.codes[node]) return `= ${rawText(nodes[node], value)}`;
    return nodes[node].kind === "numeric" && /^[<>]/.test(state) ? state : `= ${state}`;
  }

  function showReasons({ parts, favoured, other }, codes) {
    const first = parts.filter((part) => part.node === target && (part.base || Math.abs(part.value) >= NO_BASELINE));
    const known = (part) => codes[part.node] >= 0 && !(codes[part.other] < 0);
    // A pair that adds nothing is not worth a line.
    const rest = parts.filter((part) => part.node !== target && known(part) && (part.pair === undefined || part.value !== 0));
    const unknown = parts.filter((part) => part.node !== target && !part.rest && !known(part));
    const shown = allReasons ? rest : rest.slice(0, MAX_REASONS_SHOWN);
    const hidden = rest.slice(shown.length);
    const what = network.kind === "effects" ? "effect" : "attribute";
    const row = (part) => ({ words: label(part, codes), value: part.value, summed: part.summed, start: part.base, margin: intervals?.margin(part, codes, favoured) });
    const together = (list, words) => (list.length ? [{ words, value: list.reduce((sum, part) => sum + part.value, 0), summed: [] }] : []);
    const rows = [...first.map(row), ...shown.map(row), ...together(hidden, [plural(hidden.length, `other ${what}`), ""]),
      ...together(unknown, ["attributes not given", "at their means"]),
      ...parts.filter((part) => part.rest).map(row)];
    const total = parts.reduce((sum, part) => sum + part.value, 0);
    let at = 0;
    for (const each of rows) { each.from = at; at += each.value; each.to = at; }
    rows.push({ words: ["log odds, the sum", ""], value: total, from: 0, to: total, total: true, summed: [] });
    const finite = rows.flatMap(({ from, to }) => [from, to]).filter(Number.isFinite);
    const low = Math.min(0, ...finite), high = Math.max(0, ...finite), span = high - low || 1;
    const place = (x) => `${(100 * (Math.min(high, Math.max(low, x)) - low)) / span}%`;
    const list = el("ol", { class: "waterfall", "--zero": place(0) }, rows.map((row) => {
      const start = Math.min(row.from, row.to), end = Math.max(row.from, row.to);
      const summed = row.summed.length ? `Not given and summed out with it: ${row.summed.map((node) => nodes[node].name).join(", ")}` : null;
      return el("li", { class: row.total ? "total" : null, title: summed },
        el("span", { class: "label", title: row.words.join(" ") }, row.words[0], " ", el("span", { class: "muted" }, row.words[1]),
          summed ? el("span", { class: "mark", "aria-hidden": "true" }, " ∑") : null, summed ? el("span", { class: "sr" }, summed) : null),
        el("span", { class: "verb muted" }, row.total || row.start || !(Math.abs(row.value) >= 0.005) ? "" : row.value > 0 ? "raises" : "lowers"),
        el("span", { class: "figure", title: String(row.value) }, signed(row.value), row.margin > 0 ? el("span", { class: "muted margin" }, ` ± ${row.margin.toFixed(2)}`) : null),
        el("span", { class: "share" }, percent(1 / (1 + Math.exp(-row.to)))),
        el("span", { class: "lane", "aria-hidden": "true" }, Number.isNaN(start) ? null
          : el("span", { class: row.value < 0 ? "step against" : "step", "--from": place(start), "--to": place(end) })));
    }));
    const button = hidden.length || (allReasons && rest.length > MAX_REASONS_SHOWN)
      ? el("button", { type: "button", class: "quiet", onclick: () => { allReasons = !allReasons; showReasons({ parts, favoured, other }, codes); } }, allReasons ? "Show fewer" : "Show all") : null;
    byId("waterfall").replaceChildren(
      el("p", { class: "muted small" }, "Log odds for ", el("span", { class: "favoured-name" }, classes[favoured]), " against ",
        el("span", { class: "other-name" }, classes[other]), `; ${explained(network)} ${missingRule.words}${intervals && !network.edited ? ` ±: half of a ${percent(intervals.level).replace(".0 ", "\u00a0")} interval.` : ""}${parts.some((part) => part.summed.length) ? " ∑: with this part." : ""}`),
      el("p", { class: "columns-of muted small", "aria-hidden": "true" }, el("span", {}, "log odds"), el("span", {}, classes.length > 2 ? "P of the two" : `P(${cut(classes[favoured], 14)})`)),
      list, ...(button ? [button] : []));
  }

  function update(state) {
    const { codes, against } = state, found = answer(codes, against);
    choice.value = String(against);
    byId("problem").hidden = !found.problem;
    byId("problem").textContent = found.problem ?? "";
    if (found.proba) { showClasses(found); showIntervals(state); showReasons(found, codes); } else { byId("classes").replaceChildren(); byId("waterfall").replaceChildren(); }
    byId("decision").textContent = found.proba ? decidedWords(found) : "";
    byId("verdict").replaceChildren(el("span", { class: "muted" }, `${cut(nodes[target].name, 20)}: `), found.verdict);
    return found;
  }

  return { update, answer, decide };
}
