// The opening: what the model is worth on rows it has not seen, what drives it, and three rows to look at.

const FIRST_DRIVERS = 10;
const EXAMPLES = {
  sure: ["Sure, and right", "the surest of those it gets right"],
  unsure: ["Unsure", "the row it is least sure of"],
  wrong: ["Wrong", "the surest of its mistakes"],
};

// A row of the table by its number, as if it were typed into the field of the what-if panel.
function loadRow(row) {
  const field = byId("row-number");
  field.value = row;
  field.dispatchEvent(new Event("change", { bubbles: true }));
  openSection(byId("what-if"));
  byId("what-if").scrollIntoView();
}

function rowButton(row, words = `Row ${row.toLocaleString("en")}`) {
  return el("button", { type: "button", class: "link", "data-row": row, "aria-label": `Load row ${row.toLocaleString("en")} into what-if`, onclick: () => loadRow(row) }, words);
}

function showOpening(content, network, target) {
  const { about, quality, card: { measures } } = content;
  const classes = network.nodes[target].states;
  const section = byId("opening");
  const order = range(classes.length).sort((a, b) => about.shares[b] - about.shares[a] || a - b);
  const named = order.slice(0, 4).map((c) => `${classes[c]} ${percent(about.shares[c])}`).join(", ") + (classes.length > 4 ? ` and ${classes.length - 4} more` : "");
  byId("summary").textContent = `Class: ${about.target} (${named}) · learnt from ${plural(Math.round(about.learnt_rows), "row")} and ${plural(about.columns, "column")} · ${about.date}`;
  if (about.model) byId("summary").before(el("p", { class: "lead" }, about.model));
  if (about.purpose) section.append(el("p", { class: "purpose" }, about.purpose));
  section.append(el("p", { id: "worth", class: "worth" }, ...worth(quality, measures)));
  if (content.decision_quality) {
    const { words, rules } = content.decision_quality;
    section.append(el("p", { id: "decides" }, `It decides by ${words}: `, el("strong", {}, short(rules[0].cost, 4)), ` per row (95 % interval ${short(rules[0].low, 4)} to ${short(rules[0].high, 4)}); the ${rules[1].rule} would cost ${short(rules[1].cost, 4)}.`));
  }
  if (quality) section.append(measureTiles(quality, measures));
  const grid = el("div", { class: "cards opening" });
  section.append(grid);
  if (content.drivers.terms.length) grid.append(driversCard(content.drivers));
  if (content.examples?.length) grid.append(examplesCard(content.examples, classes, quality));
}

function worth(quality, measures) {
  if (!quality) return ["How good it is on new rows is not known: no rows with a class were given, and the model keeps no quality."];
  const [, value, interval, base] = measures[0];
  const rows = quality.split ? `rows it has not seen (${quality.split})` : `the ${plural(quality.n_rows, "row")} given`;
  return [`On ${rows} it names the right class in `, el("strong", {}, value), ` of all cases (95 % interval ${interval}); always saying the most frequent class is right in ${base}.`,
    quality.split ? "" : " If it was learnt from these rows, it will do worse on new ones."];
}

// Beside each measure a scale from the base rate, at the left, to perfect, at the right.
function measureTiles(quality, measures) {
  const best = { accuracy: 1, log_loss: 0, brier: 0, auc: 1 };
  return el("div", { class: "tiles" }, Object.keys(best).map((name, k) => {
    const base = quality.base_rate[name];
    const place = (value) => Math.min(1, Math.max(0, (value - base) / (best[name] - base || 1)));
    const [words, value, interval, baseWords] = measures[k];
    const ends = quality.intervals[name].map((end) => (end === null ? null : place(end)));
    const picture = quality[name] === null || base === null || ends.includes(null) ? null
      : svg("svg", { class: "scale", viewBox: "0 0 200 16", preserveAspectRatio: "xMinYMid", role: "img", "aria-label": `${words}: ${percent(place(quality[name]))} of the way from the base rate to perfect` },
        svg("line", { class: "track-line", x1: 4, x2: 196, y1: 8, y2: 8 }), svg("line", { class: "base-mark", x1: 4, x2: 4, y1: 2, y2: 14 }),
        svg("rect", { class: "interval", x: 4 + 192 * Math.min(...ends), width: Math.max(2, 192 * Math.abs(ends[1] - ends[0])), y: 3, height: 10, rx: 2 }),
        svg("circle", { class: "dot", cx: 4 + 192 * place(quality[name]), cy: 8, r: 3.5 }));
    return el("div", { class: "tile", "data-measure": name }, el("span", { class: "muted" }, words), el("strong", {}, value), el("span", { class: "interval-words small" }, `95 %: ${interval}`), picture,
      el("span", { class: "base-words muted small" }, `base rate alone: ${baseWords}`));
  }));
}

function driversCard({ unit, terms, n_rows: nRows }) {
  const odds = unit === "log odds";
  const largest = terms[0].change;
  const list = el("ol", { class: "drivers" });
  const more = el("button", { type: "button", class: "quiet", onclick: () => draw(list.children.length < terms.length) });
  const row = ({ name, change, lost }) => el("li", {}, el("span", { class: "label" }, name),
    el("span", { class: "track" }, el("span", { class: "fill", "--share": change / largest })),
    el("span", { class: "figure" }, odds ? `±${change.toFixed(2)}` : change.toFixed(3)), odds ? el("span", { class: "figure muted" }, `× ${Math.exp(change).toFixed(Math.exp(change) < 10 ? 2 : 0)}`) : null,
    lost === null ? null : el("span", { class: "figure muted" }, signed(-100 * lost, 1)));
  const head = el("li", { class: "head-row muted small" }, el("span", {}, odds ? "attribute, or pair" : "attribute"), el("span", {}), el("span", { class: "figure" }, odds ? "log odds" : "bits"), odds ? el("span", { class: "figure" }, "odds") : null,
    nRows ? el("span", { class: "figure" }, "accuracy") : null);
  function draw(all) {
    list.replaceChildren(head, ...(all ? terms : terms.slice(0, FIRST_DRIVERS)).map(row));
    more.textContent = all ? "Show fewer" : `Show all ${terms.length}`;
  }
  draw(false);
  more.hidden = terms.length <= FIRST_DRIVERS;
  const words = odds ? "By how much each typically moves the log odds of a class (root mean square over the rows), and so multiplies or divides the odds."
    : "What each attribute tells of the class, given its parents, in bits.";
  const accuracy = nRows ? ` Accuracy: what it changes by without it, in percentage points, on ${plural(nRows, "row")} of this page.` : "";
  list.classList.toggle("with-accuracy", nRows > 0);
  list.classList.toggle("with-odds", odds);
  return el("div", { class: "card", id: "drivers" }, el("h2", {}, "What drives it"), el("p", { class: "muted small" }, words + accuracy), list, more);
}

function examplesCard(examples, classes, quality) {
  return el("div", { class: "card", id: "examples" }, el("h2", {}, "Three rows to look at"),
    el("p", { class: "muted small" }, `Probabilities are ${quality.split ? "by a model that had not seen the row; in what-if the model of all rows answers" : "the model's own"}.`),
    el("ul", { class: "examples" }, examples.map(({ kind, row, truth, said, p }) => el("li", { class: kind },
      el("strong", {}, EXAMPLES[kind][0]), el("span", { class: "muted small" }, EXAMPLES[kind][1]),
      el("span", {}, `It says ${classes[said]} (${percent(p)}); `, el("span", { class: said === truth ? "is-right" : "is-wrong" }, said === truth ? "that is true." : `true is ${classes[truth]}.`)),
      el("button", { type: "button", "data-row": row, onclick: () => loadRow(row) }, `Load row ${row.toLocaleString("en")} into what-if`)))));
}
