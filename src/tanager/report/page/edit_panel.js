// Correct it: forms below the shapes, what was corrected so far, and how good the model is before and after.

const MAX_ROWS_MEASURED = 2000, MIN_ROWS_MEASURED = 100, TIME_TO_MEASURE = 1500; // milliseconds

function makeEditPanel(network, target, missingRule, model, given, { digest, version, before: earlier, trained }, store, redraw) {
  const { nodes, pairs } = network;
  const classes = nodes[target].states;
  const editor = makeEditor(network, target, missingRule);
  const edits = [];
  let open = null, on = false, measured = null, latest = null, turn = 0;
  const reason = el("input", { type: "text", maxlength: 2000, placeholder: "why", autocomplete: "off" });
  const who = el("input", { type: "text", maxlength: 200, placeholder: "your name", autocomplete: "name" });
  const complaint = el("p", { class: "note", role: "alert", hidden: true });
  const list = el("ol", { class: "edits" }), figures = el("div", { "aria-live": "polite" });
  const standing = el("p", { class: "muted small", hidden: true }, "What-if and shapes use the corrections; all other figures of this page are of the model before them.");
  const back = el("button", { type: "button", onclick: () => change(edits.slice(0, -1)) }, "Undo last");
  const save = el("button", { type: "button", id: "save-edits", onclick: () => download("edits.json", text()) }, "Save edits");
  const panel = el("div", { class: "card corrections", hidden: true }, el("div", { class: "head" }, el("h3", {}, "Corrections"), el("span", { class: "buttons" }, back, save)),
    ...earlier.map((words) => el("p", { class: "small" }, `Already in this model: ${words}`)),
    el("p", { class: "muted small" }, "Open “Edit” at a shape. The page changes at once; the model file does not. Save the edits, then run ", el("code", {}, "tanager edit model.json edits.json -o new.json"), "."),
    list, figures, standing);

  const text = () => `${JSON.stringify({ format: 1, versions: { tanager: version }, model: digest, edits }, null, 2)}\n`;

  function download(name, content) {
    const address = URL.createObjectURL(new Blob([content], { type: "application/json" }));
    el("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  // Some rows of the page, as many as can be answered in a while; the same ones before and after.
  function chooseRows() {
    if (!given?.classes) return [];
    const some = (n) => { const step = Math.max(1, Math.ceil(given.kept / n)); return range(Math.ceil(given.kept / step)).map((k) => k * step); };
    const start = performance.now(), trial = some(20);
    trial.forEach((row) => model.posterior(codesOf(row)));
    const each = (performance.now() - start) / trial.length;
    return some(Math.min(MAX_ROWS_MEASURED, Math.max(MIN_ROWS_MEASURED, Math.floor(TIME_TO_MEASURE / Math.max(each, 1e-3)))));
  }
  const codesOf = (row) => range(target).map((node) => { const code = given.codes[row * target + node]; return code < nodes[node].states.length ? code : -1; });

  function measure(rows) {
    const found = makeMeasure();
    rows.forEach((row) => { const proba = model.posterior(codesOf(row)); if (proba) found.add(Array.from(proba), given.classes[row]); });
    return found.result();
  }

  function show() {
    back.disabled = save.disabled = standing.hidden = !edits.length;
    list.replaceChildren(...edits.map((edit, k) => el("li", {}, el("strong", {}, words(edit)), `: ${edit.reason} `,
      el("span", { class: "muted" }, [edit.who, edit.when.slice(0, 10)].filter(Boolean).join(", ")), " ",
      el("button", { type: "button", class: "link", "aria-label": `Take back: ${words(edit)}`, onclick: () => change(edits.filter((_, other) => other !== k)) }, "take back"))));
    if (!measured?.rows.length) { figures.replaceChildren(el("p", { class: "muted small" }, "The effect of a correction on the quality needs rows with their classes.")); return; }
    const before = measured.result, after = latest ?? before;
    const better = (name, change) => (Math.abs(change) < 5e-5 ? "same" : (name === "accuracy") === (change > 0) ? "better" : "worse");
    figures.replaceChildren(dataTable("Quality before and after the corrections", [`on ${plural(before.rows, trained ? "training row" : "row")} of this page`, "before", "after", "change"],
      ["accuracy", "log-loss", "Brier score"].map((name) => [name, before[name].toFixed(4), after[name].toFixed(4), better(name, after[name] - before[name])]), { id: "before-after" }));
  }

  function words({ what, attributes, from, to, states, direction, of }) {
    const stretch = states ? ` for ${states.join(", ")}` : `${from === undefined ? "" : ` from ${bound(attributes[0], from)}`}${to === undefined ? "" : ` to ${bound(attributes[0], to)}`}`;
    if (what === "remove") return `remove ${attributes.join(" & ")}`;
    return what === "flatten" ? `flatten ${attributes[0]}${stretch}` : `make ${attributes[0]} ${direction}${of === undefined ? "" : ` for ${of}`}${stretch}`;
  }
  const bound = (name, value) => rawText(nodes.find((node) => node.name === name), value);

  function change(next) {
    edits.splice(0, edits.length, ...next);
    editor.applyAll(edits);
    model.renew();
    turn += 1;
    const asked = turn;
    redraw();
    store.refresh();
    show();
    // After the shapes have been drawn.
    if (measured?.rows.length) setTimeout(() => { if (asked === turn) { latest = measure(measured.rows); show(); } }, 0);
  }

  function add(edit, problem = null) {
    const missing = problem ?? (reason.value.trim() ? null : "Say why: a correction needs a reason.");
    complaint.hidden = !missing;
    complaint.textContent = missing ?? "";
    if (missing) { if (!problem) reason.focus(); return; }
    const entry = { ...edit, reason: reason.value.trim(), who: who.value.trim(), when: new Date().toISOString() };
    reason.value = "";
    open = null;
    change([...edits, entry]);
  }

  const button = (label, act) => el("button", { type: "button", onclick: act }, label);
  const closer = () => el("button", { type: "button", class: "quiet", onclick: () => { open = null; redraw(); } }, "Close");
  const person = () => el("div", { class: "signed" }, el("label", { class: "small" }, "Reason ", reason), el("label", { class: "small" }, "Name ", who));

  // From and to are cuts of the column; a stretch of categories is a list of them.
  function stretchFields(k) {
    const { kind, cuts, cut_labels: labels, states, name } = nodes[k];
    if (kind !== "numeric") {
      const several = el("select", { multiple: true, size: Math.min(6, states.length), "aria-label": `States of ${name}` }, states.map((state) => el("option", {}, state)));
      return { fields: [el("label", { class: "small" }, "of ", several)], read: () => { const chosen = [...several.selectedOptions].map((option) => option.value); return { states: chosen, count: chosen.length }; } };
    }
    const options = (end) => [el("option", { value: "" }, end), cuts.map((value, s) => el("option", { value: s }, labels ? labels[s] : rawText(nodes[k], value)))];
    const from = el("select", { "aria-label": `${name} from` }, options("start")), to = el("select", { "aria-label": `${name} to` }, options("end"));
    return {
      fields: [el("label", { class: "small" }, "from ", from), el("label", { class: "small" }, "to ", to)],
      read: () => {
        const ends = { ...(from.value === "" ? {} : { from: cuts[Number(from.value)] }), ...(to.value === "" ? {} : { to: cuts[Number(to.value)] }) };
        return { ...ends, count: editor.stretch(k, ends).length };
      },
    };
  }

  function nodeForm(k, c) {
    const { name, kind, cuts, ordered, states } = nodes[k];
    const stretch = states.length > 1 && (kind !== "numeric" || cuts.length) ? stretchFields(k) : null;
    const curve = (edit) => { const { count, ...where } = stretch.read(); add({ ...edit, attributes: [name], ...where }, count < 2 ? "Choose a stretch of at least two states." : null); };
    const monotone = (direction) => curve({ what: "monotone", direction, of: classes[c] });
    const order = stretch && (kind === "numeric" || ordered);
    const paired = pairs.filter(({ parent, child, removed }) => !removed && (parent === k || child === k)).length;
    const beside = [paired ? plural(paired, "pair") : null, network.trees ? "trees" : null].filter(Boolean).join(" and ");
    return el("div", { class: "edit-form" }, ...(stretch ? stretch.fields : []), person(), complaint,
      el("div", { class: "buttons" }, stretch ? button("Flatten", () => curve({ what: "flatten" })) : null,
        order && kind === "numeric" ? button("Only rising", () => monotone("increasing")) : null, order && kind === "numeric" ? button("Only falling", () => monotone("decreasing")) : null,
        button("Remove attribute", () => add({ what: "remove", attributes: [name] })), closer()),
      beside && stretch ? el("p", { class: "muted small" }, `Only the curve changes; its ${beside} stay. Removing the attribute removes them too.`) : null);
  }

  function pairForm(p) {
    const names = [pairs[p].parent, pairs[p].child].map((node) => nodes[node].name);
    return el("div", { class: "edit-form" }, person(), complaint, el("div", { class: "buttons" }, button("Remove pair", () => add({ what: "remove", attributes: names })), closer()));
  }

  // What a card shows below its shape: a button to open the form, or the form.
  function below(kind, number, c) {
    if (!on) return null;
    if (kind === "pair" && pairs[number].removed) return el("p", { class: "muted small" }, "removed");
    if (open?.kind === kind && open.number === number) return kind === "node" ? nodeForm(number, c) : pairForm(number);
    const name = kind === "node" ? nodes[number].name : pairName(network, pairs[number]);
    return el("button", { type: "button", class: "edit", "aria-label": `Edit ${name}`, onclick: () => { open = { kind, number }; complaint.hidden = true; redraw(); reason.focus({ preventScroll: true }); } }, "Edit");
  }

  function toggle() {
    on = !on;
    open = null;
    panel.hidden = !on && !edits.length && !earlier.length;
    if (on && measured === null) { const rows = chooseRows(); measured = { rows, result: rows.length ? measure(rows) : null }; }
    show();
    redraw();
    return on;
  }
  panel.hidden = !earlier.length;
  return { panel, below, toggle, add: (edit) => { if (!on) toggle(); change([...edits, { reason: "", who: "", when: "", ...edit }]); }, text, latest: () => ({ before: measured?.result, after: latest }) };
}
