// The columns of the table, each with its rows by class: drawn when they are scrolled to.

const MAX_STATES_DRAWN = 8, MAX_CUTS_NAMED = 4;

function showColumns({ columns, class_groups: groups, n_rows: nRows }, network, target) {
  const { nodes } = network;
  const section = byId("columns"), cutting = network.kind !== "effects" || network.pairs.length > 0;
  section.append(el("h3", { class: "between" }, "Each column, by class"),
    el("p", { class: "muted small" }, `How many rows have each value.${cutting ? ` Vertical lines are ${network.kind === "effects" ? "the coarse cuts, those of the pairs." : "the cuts between the states of a number."}` : ""}`));
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
    const remarks = cutting || !column.edges ? [plural(node.states.length, "state")] : [];
    if (column.missing) remarks.push(`${percent(column.missing / nRows)} missing`);
    if (column.unseen) remarks.push(`${plural(column.unseen, "cell")} unseen in training`);
    if (column.edges) {
      const cuts = (cutting ? column.cuts : []).map((x, d) => [x, `cut at ${column.cut_labels[d]}`]);
      const spoken = cuts.length ? `cuts at ${column.cut_labels.join(", ")}` : "no cut";
      element.append(histogram(column.bars, cuts, `Histogram of ${node.name}, ${spoken}`),
        el("div", { class: "ends muted small", "aria-hidden": "true" }, el("span", {}, column.edges[0]), el("span", {}, column.edges[1])));
      if (cutting) remarks.push(cuts.length > MAX_CUTS_NAMED ? plural(cuts.length, "cut") : spoken);
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

