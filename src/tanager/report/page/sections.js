// The sections below the what-if panel: quality, data, learning, and the model card.

const MAX_GAPS_LISTED = 12, MAX_STATES_DRAWN = 8, MAX_FINDINGS = 8, MAX_CUTS_NAMED = 4, MIN_STEPS_DRAWN = 3;

const card = (title, ...children) => el("div", { class: "card" }, title ? el("h3", {}, title) : null, ...children);

function showQuality({ quality, decision_quality: decision, groups, mistakes }, classes) {
  const section = byId("quality");
  const how = quality.split ? `Cross-validated on the rows that the model was learnt from (${quality.split}): each of these ${plural(quality.n_rows, "row")} was judged by a model that had not seen it.`
    : `On the ${plural(quality.n_rows, "row")} given. If the model was learnt from them, it will do worse on new ones.`;
  const calibration = ` In bins of the probability, how often the class predicted is right differs from its probability by ${short(100 * quality.calibration_error)} % on average.`;
  section.append(el("h2", { id: "quality-title" }, "Quality"), el("p", { class: "muted" }, how + calibration));
  const grid = el("div", { class: "cards" });
  section.append(grid);
  const deciding = makeDeciding(quality, classes, decision);
  if (decision) grid.append(decisionCard(decision, classes));
  if (deciding) grid.append(deciding);
  const many = classes.length > 8;
  if (quality.confusion) {
    const matrix = card("Confusion matrix of the most probable class", confusionTable(quality.confusion, classes, many), heatLegend());
    matrix.classList.toggle("wide", many);
    grid.append(matrix);
  }
  grid.append(card("By class, each against the rest", dataTable("Measures by class", ["class", "rows", "sensitivity", "specificity", "PPV", "NPV", "AUC"],
    quality.classes.map((each, c) => [classes[c], each.support.toLocaleString("en"), ...["sensitivity", "specificity", "positive_predictive_value", "negative_predictive_value"].map((name) => rateWords(each[name])), short(each.auc)]), { class: "tight" })));
  if (mistakes?.length) grid.append(mistakesCard(mistakes, classes));
  if (groups) grid.append(groupsCard(groups));
}

const heatLegend = () => el("ul", { class: "legend" }, el("li", { class: "right-rows" }, "right"), el("li", { class: "wrong-rows" }, "wrong; the darker, the larger the share of the true class"));

function confusionTable(confusion, classes, many, said = classes, verb = "predicted") {
  const rows = confusion.map((counts, truth) => {
    const total = counts.reduce((sum, n) => sum + n, 0) || 1;
    return [classes[truth], ...counts.map((n, k) => el("td", { class: n ? `heat ${truth === k || k >= classes.length ? "" : "wrong"}` : "heat none", "--heat": (n / total).toFixed(3) }, n.toLocaleString("en")))];
  });
  return dataTable(`Confusion matrix: a row for each true class, a column for each ${verb} one`, [`true \\ ${verb}`, ...said.map((name) => cut(name, 18))], rows, { class: "confusion" }, many ? "crowded" : "");
}

function showData({ columns, class_groups: groups, findings, associations, rows: { count: nRows } }, network, target) {
  const { nodes } = network;
  const section = byId("data");
  const missing = columns.reduce((sum, column) => sum + column.missing, 0);
  const words = missing ? `${plural(missing, "missing cell")} (${percent(missing / (nRows * columns.length))})` : "no missing cell";
  section.append(el("h2", { id: "data-title" }, "Data"), el("p", { class: "muted" }, `${plural(nRows, "row")}, ${plural(columns.length, "attribute")}, ${words}.`));
  const cards = el("div", { class: "cards" }, card("Data checks: issues found", findingsList(findings)));
  if (missing) cards.append(card("Missing cells", missingCells(columns, nodes, nRows)));
  if (associations.length) cards.append(card("Columns that go together", el("p", { class: "muted small" }, "Cramér's V of coarse states, corrected for chance: 0 for none, 1 where one tells the other. Columns that say the same share their effects."),
    el("ul", { class: "shares one-column" }, associations.map(([one, other, v]) => shareRow(`${one} & ${other}`, v, short(v, 2))))));
  section.append(cards, el("h3", { class: "between" }, "Each column, by class"),
    el("p", { class: "muted small" }, `How many rows have each value. Vertical lines are ${network.kind === "effects" ? "the coarse cuts, those of the pairs." : "the cuts between the states of a number."}`));
  const classes = nodes[target].states;
  const groupName = (group) => (group.length === 1 ? classes[group[0]] : `${group.length} other classes`);
  if (groups.length > 1) section.append(el("ul", { class: "legend", "aria-label": "Colours of the classes" }, groups.map((group, c) => el("li", { class: `class-${c}` }, groupName(group)))));
  // Drawn when scrolled to: a wide table has thousands of bars.
  const grid = el("div", { class: "columns" }, columns.map((_, k) => {
    const holder = el("div", { class: "card column", "data-column": k }, el("h3", {}, nodes[k].name));
    return drawLater(holder, () => fill(holder, k));
  }));
  section.append(grid);

  function fill(element, k) {
    const column = columns[k], node = nodes[k];
    const remarks = [plural(node.states.length, "state")];
    if (column.missing) remarks.push(`${percent(column.missing / nRows)} missing`);
    if (column.unseen) remarks.push(`${plural(column.unseen, "cell")} unseen in training`);
    if (column.edges) {
      const cuts = column.cuts.map((x, d) => [x, `cut at ${column.cut_labels[d]}`]);
      const spoken = column.cut_labels.length ? `cuts at ${column.cut_labels.join(", ")}` : "no cut";
      element.append(histogram(column.bars, cuts, `Histogram of ${node.name}, ${spoken}`),
        el("div", { class: "ends muted small", "aria-hidden": "true" }, el("span", {}, column.edges[0]), el("span", {}, column.edges[1])));
      remarks.push(column.cuts.length > MAX_CUTS_NAMED ? plural(column.cuts.length, "cut") : spoken);
    } else element.append(stateCounts(column, node, nRows));
    element.append(el("p", { class: "muted small" }, remarks.join(" · ")));
  }
}

// A line for each of the most frequent states, its bar parted by class.
function stateCounts({ states, bars }, node, nRows) {
  const totals = bars.map((bar) => bar.reduce((sum, n) => sum + n, 0));
  const most = Math.max(1, ...totals), shown = states.slice(0, MAX_STATES_DRAWN);
  const more = node.states.length - shown.length;
  return el("ul", { class: "state-counts" }, shown.map((code, d) => el("li", {}, el("span", { class: "label" }, node.states[code]),
    svg("svg", { class: "histogram state", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, stacked(bars[d], most)),
    el("span", { class: "figure" }, percent(totals[d] / nRows)))), more > 0 ? el("li", { class: "muted small" }, `and ${more} more`) : null);
}

function stacked(bar, most) {
  let at = 0;
  return bar.map((n, c) => {
    const wide = (100 * n) / most;
    at += wide;
    return n ? svg("rect", { class: `class-${c}`, x: (at - wide).toFixed(2), width: wide.toFixed(2), y: 0, height: 8 }) : null;
  });
}

function findingsList(findings) {
  if (!findings.length) return el("p", {}, "Nothing that looks wrong.");
  const shown = findings.slice(0, MAX_FINDINGS);
  return el("ul", { class: "findings" }, shown.map(({ severity, words, remedy }) => el("li", {}, el("strong", {}, severity), " ", words, remedy ? el("span", { class: "muted small" }, ` → ${remedy}`) : null)),
    findings.length > shown.length ? el("li", { class: "muted small" }, `and ${plural(findings.length - shown.length, "more finding")}: tanager check shows them`) : null);
}

const shareRow = (name, share, words) => el("li", { class: "class-row" }, el("span", { class: "label" }, name), el("span", { class: "track" }, el("span", { class: "fill", "--share": share })), el("span", { class: "figure" }, words));

// A bar for each attribute with gaps, the emptiest first.
function missingCells(columns, nodes, nRows) {
  const gaps = range(columns.length).filter((k) => columns[k].missing).sort((a, b) => columns[b].missing - columns[a].missing);
  const row = (k) => shareRow(nodes[k].name, columns[k].missing / nRows, percent(columns[k].missing / nRows));
  const more = gaps.length > MAX_GAPS_LISTED ? el("p", { class: "muted small" }, `and ${plural(gaps.length - MAX_GAPS_LISTED, "other attribute")} with fewer`) : null;
  return [el("ul", { class: "shares missing-cells one-column" }, gaps.slice(0, MAX_GAPS_LISTED).map(row)), more];
}

function showLearning(learning) {
  const section = byId("learning");
  section.append(el("h2", { id: "learning-title" }, "How it was learnt"));
  const grid = el("div", { class: "cards" });
  section.append(grid);
  const score = learning.score === null ? [] : [`The score of the structure is ${short(learning.score, 8)}.`];
  grid.append(card("In sentences", el("ul", { class: "sentences" }, [...learning.sentences, ...score].map((each) => el("li", {}, each)))));
  const options = learning.options.length ? dataTable("Options that differ from the default", ["option", "value"], learning.options, {}, "options") : el("p", {}, "All options are the default.");
  grid.append(card(`Options of ${learning.classifier}`, options, el("p", { class: "muted small" }, `This page was written with ${learning.versions.join(", ")}.`)));
  if (!learning.steps.length) return;
  const scored = learning.steps.every(([, , after]) => after !== null);
  if (scored && learning.steps.length > MIN_STEPS_DRAWN) {
    const points = learning.steps.map(([, , after], k) => [k + 1, after]);
    const ys = points.map(([, y]) => y);
    grid.append(card("Score after each step of the search", lineChart({ title: "Score after each step", caption: false, description: `From ${short(ys[0], 6)} to ${short(ys.at(-1), 6)}.`, xLabel: "step", yLabel: "score", shape: [420, 230], limits: [1, points.length, Math.min(...ys), Math.max(...ys)], series: [{ points, kind: "main" }] })));
  }
  const rows = learning.steps.map(([action, gain, after]) => (scored ? [action, short(gain, 5), short(after, 8)] : [action]));
  const more = learning.n_steps > learning.steps.length ? `, the first ${learning.steps.length}` : "";
  grid.append(card(`Steps of the search (${learning.n_steps}${more})`, dataTable("Steps of the search", scored ? ["step", "gain", "score"] : ["step"], rows, { class: "steps" })));
}

// What the model is for, on what it was learnt, how good it is and where it ends; `tanager report --card` writes the same.
function showCard({ sections, measures, date, version }) {
  const section = byId("card");
  section.append(el("h2", { id: "card-title" }, "Model card"));
  section.append(el("div", { class: "card model-card" }, el("p", { class: "muted small" }, `Written on ${date} by Tanager ${version}. The same as Markdown or JSON: tanager report --card card.md`),
    el("dl", {}, sections.map(([name, lines]) => el("div", { "data-section": name }, el("dt", {}, name), el("dd", {}, el("ul", { class: "sentences" }, lines.map((line) => el("li", {}, line))),
      name === "Quality" && measures.length ? dataTable("Measures", ["measure", "this model", "95 % interval", "base rate alone"], measures) : null))))));
}
