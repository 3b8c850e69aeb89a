// Where the model fails: groups of rows that it does worse or better on, and its mistakes.

const FIRST_MISTAKES = 10;

function groupsCard({ tested, fewest, level, found }) {
  const words = `Of ${plural(tested, "group")} of at least ${fewest} rows that share a value, those whose loss differs from that of all rows by more than chance; on a model that does equally well everywhere any would be listed in ${short(100 * level)} of 100 tables.`;
  if (!found.length) return el("div", { class: "card", id: "groups" }, el("h3", {}, "Where it fails"), el("p", { class: "muted small" }, words), el("p", {}, "None was found."));
  const worse = (each) => each.loss > each.rest_loss;
  const row = (each) => [el("th", { scope: "row" }, `${each.attribute} is ${each.state}`), each.rows.toLocaleString("en"),
    el("td", { class: worse(each) ? "is-wrong" : "" }, worse(each) ? "worse" : "better"), `${short(each.loss)} (${short(each.rest_loss)})`, `${percent(each.accuracy)} (${percent(each.rest_accuracy)})`, each.p < 0.01 ? "< 0.01" : short(each.p, 2)];
  const shown = [...found.filter(worse).slice(0, 12), ...found.filter((each) => !worse(each)).slice(-5)];
  const left = found.length - shown.length;
  return el("div", { class: "card wide", id: "groups" }, el("h3", {}, "Where it fails"), el("p", { class: "muted small" }, words),
    dataTable("Groups of rows", ["group", "rows", "it does", "log-loss (elsewhere)", "accuracy (elsewhere)", "p, adjusted"], shown.map(row)),
    left > 0 ? el("p", { class: "muted small" }, `and ${plural(left, "group")} more`) : null);
}

function mistakesCard(mistakes, classes) {
  const columns = [["row", 0], ["true class", 1], ["it said", 2], ["P(true class)", 3], ["P(said)", 4]];
  let by = 4, down = true, all = false;
  const holder = el("div"), more = el("button", { type: "button", class: "quiet", onclick: () => { all = !all; draw(); } });
  const key = (each) => (by === 1 || by === 2 ? classes[each[by]] : each[by]);
  const compare = (a, b) => (typeof key(a) === "string" ? key(a).localeCompare(key(b)) : key(a) - key(b)) || a[0] - b[0];
  function draw() {
    const sorted = [...mistakes].sort((a, b) => (down ? compare(b, a) : compare(a, b)));
    const head = columns.map(([name, k]) => el("th", { scope: "col", "aria-sort": k === by ? (down ? "descending" : "ascending") : "none" },
      el("button", { type: "button", class: "sort", onclick: () => { down = k === by ? !down : k > 2; by = k; draw(); } }, name, el("span", { "aria-hidden": "true" }, k === by ? (down ? " ▾" : " ▴") : ""))));
    const rows = (all ? sorted : sorted.slice(0, FIRST_MISTAKES)).map(([row, truth, said, p, q]) => [el("th", { scope: "row" }, rowButton(row, row.toLocaleString("en"))), classes[truth], el("td", { class: "is-wrong" }, classes[said]), percent(p), percent(q)]);
    holder.replaceChildren(dataTable("Mistakes", head, rows, { class: "mistakes" }));
    more.hidden = mistakes.length <= FIRST_MISTAKES;
    more.textContent = all ? "Show fewer" : `Show all ${mistakes.length}`;
  }
  draw();
  return el("div", { class: "card", id: "mistakes" }, el("h3", {}, "Mistakes"), el("p", { class: "muted small" }, "The surest first; a row's number loads it into what-if."), holder, more);
}
