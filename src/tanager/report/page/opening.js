// Rows that load into what-if, and errors that sort by their number or by a probability: both are in the page, and scripts make them work.

// A row of the table by its number, as if it were typed into the field of the what-if panel.
function loadRow(row) {
  const field = byId("row-number");
  field.value = row;
  field.dispatchEvent(new Event("change", { bubbles: true }));
  openSection(byId("what-if"));
  byId("what-if").scrollIntoView();
}

function makeRowButtons() {
  for (const button of document.querySelectorAll("button[data-row]")) button.addEventListener("click", () => loadRow(Number(button.dataset.row)));
}

function makeSorting(table) {
  if (!table) return;
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  let by = -1, down = true;
  const key = (row, k) => (row.cells[k].querySelector(".p") ?? row.cells[k]).textContent.replace(/[,<>]/g, "").trim();
  function sort(k) {
    down = k === by ? !down : k > 0;
    by = k;
    const rows = [...body.rows].sort((a, b) => key(a, k).localeCompare(key(b, k), "en", { numeric: true }));
    body.append(...(down ? rows.reverse() : rows));
    heads.forEach((head, other) => {
      head.setAttribute("aria-sort", other !== k ? "none" : down ? "descending" : "ascending");
      head.querySelector("[aria-hidden]").textContent = other !== k ? "" : down ? " ▾" : " ▴";
    });
  }
  heads.forEach((head, k) => head.replaceChildren(el("button", { type: "button", class: "sort", onclick: () => sort(k) }, head.textContent, el("span", { "aria-hidden": "true" }))));
}
