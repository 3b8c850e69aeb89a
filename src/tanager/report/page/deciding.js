// Quality to decide by: a threshold, what it finds and misses, and what that costs; the curves with the point chosen.

const rate = (part, whole) => (whole ? part / whole : null);
const rateWords = (value) => (value === null ? "–" : percent(value));

// What a threshold does to rows of one class and to others; costs are of an alarm about another row and of a miss.
function atThreshold({ thresholds, found, alarms, of_class: n, others }, k, { alarm, miss }) {
  const t = thresholds[k], tp = found[k], fp = alarms[k], fn = n - tp, tn = others - fp, all = n + others;
  return {
    t, tp, fp, fn, tn,
    sensitivity: rate(tp, n), specificity: rate(tn, others), ppv: rate(tp, tp + fp), npv: rate(tn, tn + fn),
    // Vickers and Elkin 2006: in units of a row of the class that is found, per row.
    benefit: tp / all - (t / (1 - t)) * (fp / all), benefitOfAll: n / all - (t / (1 - t)) * (others / all),
    cost: (alarm * fp + miss * fn) / all, costOfAll: (alarm * others) / all, costOfNone: (miss * n) / all,
  };
}

function makeDeciding({ quality, event, decision_quality: decision }, classes) {
  const drawn = range(quality.curves.length).filter((c) => quality.curves[c]);
  if (!drawn.length) return;
  const usual = drawn.reduce((best, c) => (quality.classes[c].support > quality.classes[best].support ? c : best));
  let c = [decision?.positive, event?.code].find((code) => drawn.includes(code)) ?? usual;
  const costs = startCosts(decision, c, classes.length);
  const choice = el("select", { id: "curve-class" }, drawn.map((k) => el("option", { value: k, selected: k === c }, classes[k])));
  const slider = el("input", { id: "threshold", type: "range", min: 0, step: 1, "aria-describedby": "threshold-words" });
  const words = el("output", { id: "threshold-words", for: "threshold" });
  const cost = (id, name, key) => el("label", { class: "small" }, `${name} `, el("input", { id, type: "number", min: 0, step: "any", value: costs[key], oninput: (event) => {
    const value = Number(event.target.value);
    if (event.target.value !== "" && Number.isFinite(value) && value >= 0) { costs[key] = value; update(); }
  } }));
  const figures = el("div", { class: "figures", id: "threshold-figures", "aria-live": "polite" }), charts = el("div", { class: "charts" }), note = el("p", { class: "muted small" });
  const usualPlace = ({ thresholds, decided }) => (decided === null ? thresholds.indexOf(0.5) : thresholds.indexOf(decided));
  choice.addEventListener("change", () => { c = Number(choice.value); start(); });
  slider.addEventListener("input", update);

  function start() {
    const table = quality.thresholds[c];
    slider.max = table.thresholds.length - 1;
    slider.value = usualPlace(table);
    note.textContent = table.decided !== null ? `The model decides for ${classes[c]} from ${short(table.decided, 4)} on.`
      : decision ? "The model decides by the rule above, which is not a threshold of this class."
      : classes.length === 2 ? "Without another rule the model predicts the more probable class: a threshold of 0.5." : "Without another rule the model predicts the most probable class.";
    update();
  }

  function update() {
    const table = quality.thresholds[c], at = atThreshold(table, Number(slider.value), costs);
    words.textContent = `${classes[c]} from ${short(at.t, 4)} on`;
    slider.setAttribute("aria-valuetext", words.textContent);
    figures.replaceChildren(thresholdFigures(at));
    if (classes.length === 2 && !decision?.asks) showMatrix(at, c);
    charts.replaceChildren(...classCharts(quality.curves[c], quality.classes[c].auc, classes[c], at));
  }
  const some = quality.n_kept < quality.n_rows ? ` Thresholds other than the model's rule are counted on ${plural(quality.n_kept, "row")} drawn from these, weighted so that they stand for all.` : "";
  byId("deciding").hidden = false;
  byId("deciding").append(el("h3", {}, "Choose a threshold"),
    el("p", { class: "muted small" }, `One class against the rest: it is predicted if its probability is at least the threshold.${some}`),
    el("div", { class: "head" }, el("label", { class: "small" }, "class ", choice), el("label", { class: "small grow" }, "threshold ", slider), words,
      cost("cost-alarm", "cost of a false alarm", "alarm"), cost("cost-miss", "cost of a miss", "miss")),
    note, figures, charts);
  start();
}

// The costs of the model's decision about the class, or one for both mistakes.
function startCosts(decision, c, n) {
  if (!decision || decision.positive !== c) return { alarm: 1, miss: 1 };
  const others = range(n).filter((k) => k !== c);
  const alarm = Math.max(...others.map((k) => decision.costs[k][c] - decision.costs[k][k]));
  const miss = Math.max(...others.map((k) => decision.costs[c][k] - decision.costs[c][c]));
  return { alarm: Number(alarm.toPrecision(6)), miss: Number(miss.toPrecision(6)) };
}

// The counts at the threshold, in the confusion matrix of the page.
function showMatrix({ t, tp, fp, fn, tn }, c) {
  const counts = c === 1 ? [[tn, fp], [fn, tp]] : [[tp, fn], [fp, tn]];
  byId("matrix").querySelector("h3").textContent = `Confusion matrix at the threshold ${short(t, 4)}`;
  [...byId("matrix").querySelectorAll("tbody tr")].forEach((row, truth) => [...row.querySelectorAll("td")].forEach((cell, said) => {
    const n = counts[truth][said], share = n / (counts[truth][0] + counts[truth][1] || 1);
    cell.textContent = n.toLocaleString("en");
    cell.className = `heat h${Math.round(10 * share)}${n && truth !== said ? " wrong" : ""}${n ? "" : " none"}`;
  }));
}

function thresholdFigures(at) {
  const lines = [
    ["sensitivity", rateWords(at.sensitivity), "of the rows of the class are found"], ["specificity", rateWords(at.specificity), "of the other rows are left alone"],
    ["positive predictive value", rateWords(at.ppv), "of the alarms are right"], ["negative predictive value", rateWords(at.npv), "of the rows without an alarm are of another class"],
    ["net benefit", short(at.benefit, 4), `cases found per row minus weighted false alarms; the threshold gives the weight. Alarm for everyone: ${short(at.benefitOfAll, 4)}, for no one: 0`], ["cost per row", short(at.cost, 4), `alarm for everyone: ${short(at.costOfAll, 4)}, for no one: ${short(at.costOfNone, 4)}`],
  ];
  return el("dl", { class: "facts" }, lines.map(([name, value, remark]) => el("div", { "data-figure": name }, el("dt", {}, name), el("dd", {}, el("strong", {}, value), " ", el("span", { class: "muted small" }, remark)))));
}

function classCharts(curve, auc, name, at) {
  const pairs = ([x, y]) => x.map((value, k) => [value, y[k]]);
  const unit = [0, 1, 0, 1];
  const diagonal = { points: [[0, 0], [1, 1]], kind: "guide" };
  const most = Math.max(...curve.calibration.map(([, , n]) => n));
  const bins = curve.calibration.map(([p, share, n, low, high]) => [p, share, `${plural(n, "row")}: mean probability ${short(p)}, share ${short(share)} (95 %: ${short(low)} to ${short(high)})`, 2 + 4 * Math.sqrt(n / most)]);
  const whiskers = curve.calibration.map(([p, , , low, high]) => ({ points: [[p, low], [p, high]], kind: "whisker" }));
  const chosen = (x, y, words) => (x === null || y === null ? [] : [{ points: [[x, y, words, 6]], kind: "chosen", dots: true }]);
  return [
    lineChart({ title: "Calibration: do the probabilities come true?", description: `Share of ${name} by predicted probability: ${bins.map(([, , words]) => words).join("; ")}.`, xLabel: "predicted probability", yLabel: "share of the class", limits: unit, series: [diagonal, ...whiskers, { points: bins, kind: "main", dots: true }, { points: [[at.t, 0], [at.t, 1]], kind: "chosen" }] }),
    lineChart({ title: `ROC: area ${area(auc)}`, description: `At the threshold sensitivity ${rateWords(at.sensitivity)}, specificity ${rateWords(at.specificity)}.`, xLabel: "false alarms among other rows", yLabel: "found (sensitivity)", limits: unit, series: [diagonal, { points: pairs(curve.roc), kind: "main" }, ...chosen(at.specificity === null ? null : 1 - at.specificity, at.sensitivity, "threshold chosen")] }),
    lineChart({ title: `Precision and recall: share of the class ${short(curve.share)}`, description: `At the threshold precision ${rateWords(at.ppv)}, recall ${rateWords(at.sensitivity)}.`, xLabel: "found (recall)", yLabel: "right among alarms (precision)", limits: unit, series: [{ points: [[0, curve.share], [1, curve.share]], kind: "guide" }, { points: pairs(curve.pr), kind: "main" }, ...chosen(at.sensitivity, at.ppv, "threshold chosen")] }),
  ];
}
