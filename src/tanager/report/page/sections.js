// The sections below the what-if panel: quality, data, learning.

const MAX_GAPS_LISTED = 24;

const card = (title, ...children) => el("div", { class: "card" }, title ? el("h3", {}, title) : null, ...children);

function tile(name, value, ...remarks) {
  return el("div", { class: "tile" }, el("span", { class: "muted" }, name), el("strong", {}, value), remarks.filter(Boolean).map((remark) => el("span", { class: "muted small" }, remark)));
}

// How much smaller a loss is than another, in words.
function relative(loss, other) {
  const change = loss / other - 1;
  return Number.isFinite(change) ? ` (${change > 0 ? "+" : "−"}${Math.abs(100 * change).toFixed(0)} %)` : "";
}

function showQuality(quality, classes) {
  const section = byId("quality");
  const how = quality.split ? `Cross-validated on the rows that the model was learnt from (${quality.split}): each of these ${plural(quality.n_rows, "row")} was judged by a model that had not seen it.`
    : `On the ${plural(quality.n_rows, "row")} given. If the model was learnt from them, it will do worse on new ones.`;
  section.append(el("h2", { id: "quality-title" }, "Quality"), el("p", { class: "muted" }, `${how} Below each measure is its 95 % interval.`));
  const { base_rate: base, intervals } = quality;
  const between = (name, show = short) => (intervals[name][0] === null ? "" : intervals[name].map((end) => show(end)).join(" to "));
  const gain = (name) => (base[name] === null ? "" : `base rate alone: ${short(base[name], 4)}${relative(quality[name], base[name])}`);
  section.append(el("div", { class: "tiles" },
    tile("accuracy", percent(quality.accuracy), between("accuracy", percent), `${plural(Math.round((1 - quality.accuracy) * quality.n_rows), "mistake")}; base rate alone: ${percent(base.accuracy)}`),
    tile("log-loss", short(quality.log_loss, 4), between("log_loss"), gain("log_loss")),
    tile("Brier score", short(quality.brier, 4), between("brier"), gain("brier")),
    tile("calibration error", short(quality.calibration_error, 3), "expected, of the predicted class"),
    tile("area under ROC", short(quality.auc, 4), between("auc"), classes.length > 2 ? "mean of one against the rest" : "")));
  const grid = el("div", { class: "cards" });
  section.append(grid);
  const many = classes.length > 8;
  if (quality.confusion) {
    const matrix = card("Confusion matrix", confusionTable(quality.confusion, classes, many));
    matrix.classList.toggle("wide", many);
    grid.append(matrix);
  }
  grid.append(card("By class", dataTable("Measures by class", ["class", "rows", "precision", "recall", "F1", "AUC"],
    quality.classes.map((each, c) => [classes[c], each.support.toLocaleString("en"), short(each.precision), short(each.recall), short(each.f1), short(each.auc)]))));
  const drawn = quality.curves.map((curve, c) => [curve, c]).filter(([curve]) => curve);
  if (!drawn.length) return;
  const charts = el("div", { class: "charts" });
  const start = drawn.at(classes.length === 2 ? -1 : 0)[1];
  const choice = el("select", { id: "curve-class", onchange: () => draw(Number(choice.value)) }, drawn.map(([, c]) => el("option", { value: c, selected: c === start }, classes[c])));
  const draw = (c) => charts.replaceChildren(...classCharts(quality.curves[c], quality.classes[c].auc, classes[c]));
  section.append(el("div", { class: "card" }, el("div", { class: "head" }, el("h3", {}, "One class against the rest"), el("label", { class: "small" }, "class ", choice)), charts));
  draw(start);
}

function confusionTable(confusion, classes, many) {
  const rows = confusion.map((counts, truth) => {
    const total = counts.reduce((sum, n) => sum + n, 0) || 1;
    return [classes[truth], ...counts.map((n, said) => el("td", { class: n ? `heat ${truth === said ? "" : "wrong"}` : "heat none", "--heat": (n / total).toFixed(3), title: `${classes[truth]} taken for ${classes[said]}: ${percent(n / total)}` }, n.toLocaleString("en")))];
  });
  return dataTable("Confusion matrix: a row for each true class, a column for each predicted one", ["true \\ predicted", ...classes.map((name) => cut(name, 18))], rows, { class: "confusion" }, many ? "crowded" : "");
}

function classCharts(curve, auc, name) {
  const pairs = ([x, y]) => x.map((value, k) => [value, y[k]]);
  const unit = [0, 1, 0, 1];
  const diagonal = { points: [[0, 0], [1, 1]], kind: "guide" };
  const most = Math.max(...curve.calibration.map(([, , n]) => n));
  const bins = curve.calibration.map(([p, share, n]) => [p, share, `${plural(n, "row")}: mean probability ${short(p)}, share ${short(share)}`, 2 + 4 * Math.sqrt(n / most)]);
  return [
    lineChart({ title: "Calibration", description: `Share of ${name} among rows by predicted probability.`, xLabel: "predicted probability", yLabel: "share of the class", limits: unit, series: [diagonal, { points: bins, kind: "main", dots: true }] }),
    lineChart({ title: "ROC", description: `Area under the curve ${short(auc)}.`, xLabel: "false positive rate", yLabel: "true positive rate", limits: unit, series: [diagonal, { points: pairs(curve.roc), kind: "main" }] }),
    lineChart({ title: "Precision and recall", description: `Share of the class ${short(curve.share)}.`, xLabel: "recall", yLabel: "precision", limits: unit, series: [{ points: [[0, curve.share], [1, curve.share]], kind: "guide" }, { points: pairs(curve.pr), kind: "main" }] }),
  ];
}

function showData(columns, network, target, nRows) {
  const { nodes } = network;
  const section = byId("data");
  const missing = columns.reduce((sum, column) => sum + column.missing, 0);
  const words = missing ? `${plural(missing, "missing cell")} (${percent(missing / (nRows * columns.length))})` : "no missing cell";
  section.append(el("h2", { id: "data-title" }, "Data"),
    el("p", { class: "muted" }, `${plural(nRows, "row")}, ${plural(columns.length, "attribute")}, ${words}. Vertical lines are the ${network.kind === "effects" ? "coarse cuts, those of the pairs." : "cuts between the states of a number."}`));
  if (columns.some((column) => column.bars[0]?.length > 1)) {
    section.append(el("ul", { class: "legend", "aria-label": "Colours of the classes" }, nodes[target].states.map((name, c) => el("li", { class: `class-${c}` }, name))));
  }
  if (missing) section.append(card("Missing cells", missingCells(columns, nodes, nRows)));
  // Drawn when scrolled to: a wide table has thousands of bars.
  const watcher = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    watcher.unobserve(entry.target);
    fill(entry.target, Number(entry.target.dataset.column));
  }), { rootMargin: "600px" });
  const grid = el("div", { class: "columns" }, columns.map((_, k) => el("div", { class: "card column", "data-column": k }, el("h3", { title: nodes[k].name }, nodes[k].name))));
  [...grid.children].forEach((child) => watcher.observe(child));
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
      if (!column.cuts.length) remarks.push("no cut");
    } else {
      const totals = column.bars.map((bar) => bar.reduce((sum, n) => sum + n, 0));
      const spoken = column.states.map((code, d) => `${node.states[code]} ${totals[d]}`).join(", ");
      element.append(histogram(column.bars, [], `Counts of ${node.name}: ${spoken}`),
        el("div", { class: "ends muted small", "aria-hidden": "true" }, column.states.length ? [el("span", {}, cut(node.states[column.states[0]], 18)), el("span", {}, cut(node.states[column.states.at(-1)], 18))] : []));
    }
    element.append(el("p", { class: "muted small" }, remarks.join(" · ")));
  }
}

// A bar for each attribute with gaps, the emptiest first.
function missingCells(columns, nodes, nRows) {
  const gaps = range(columns.length).filter((k) => columns[k].missing).sort((a, b) => columns[b].missing - columns[a].missing);
  const row = (k) => el("li", { class: "class-row" }, el("span", { class: "label", title: nodes[k].name }, nodes[k].name),
    el("span", { class: "track" }, el("span", { class: "fill", "--share": columns[k].missing / nRows })), el("span", { class: "figure" }, percent(columns[k].missing / nRows)));
  const more = gaps.length > MAX_GAPS_LISTED ? el("p", { class: "muted small" }, `and ${plural(gaps.length - MAX_GAPS_LISTED, "other attribute")} with fewer`) : null;
  return [el("ul", { class: "missing-cells" }, gaps.slice(0, MAX_GAPS_LISTED).map(row)), more];
}

function showLearning(learning) {
  const section = byId("learning");
  section.append(el("h2", { id: "learning-title" }, "Learning"));
  const grid = el("div", { class: "cards" });
  section.append(grid);
  const words = learning.parameters.filter((entry) => entry.words !== undefined).map((entry) => [entry.name, entry.words]);
  const score = learning.score === null ? [] : [["score of the structure", short(learning.score, 8)]];
  grid.append(card("Model", dataTable("Options of the model", ["option", "value"], [["classifier", learning.classifier], ...learning.options, ...score, ...words], {}, "options")));
  const scored = learning.steps.every(([, , after]) => after !== null);
  if (scored && learning.steps.length > 1) {
    const points = learning.steps.map(([, , after], k) => [k + 1, after]);
    const ys = points.map(([, y]) => y);
    grid.append(card("Search: score after each step", lineChart({ title: "Score after each step", caption: false, description: `From ${short(ys[0], 6)} to ${short(ys.at(-1), 6)}.`, xLabel: "step", yLabel: "score", shape: [420, 230], limits: [1, points.length, Math.min(...ys), Math.max(...ys)], series: [{ points, kind: "main" }] })));
  }
  for (const { name, series } of learning.parameters.filter((entry) => entry.series)) {
    const ys = series.map(([, y]) => y);
    grid.append(card(`Convergence: ${name}`, lineChart({ title: name, caption: false, description: `From ${short(ys[0], 6)} to ${short(ys.at(-1), 6)}.`, xLabel: "step", yLabel: name, shape: [420, 230], limits: [series[0][0], series.at(-1)[0], Math.min(...ys), Math.max(...ys)], series: [{ points: series, kind: "main" }] })));
  }
  if (learning.steps.length) {
    const rows = learning.steps.map(([action, gain, after]) => (scored ? [action, short(gain, 5), short(after, 8)] : [action]));
    const more = learning.n_steps > learning.steps.length ? `, the first ${learning.steps.length}` : "";
    grid.append(card(`Steps (${learning.n_steps}${more})`, dataTable("Steps of the search", scored ? ["step", "gain", "score"] : ["step"], rows, { class: "steps" })));
  }
}
