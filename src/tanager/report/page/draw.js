// Elements without markup: every name and number goes through textContent or an attribute, never through HTML.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("--")) element.style.setProperty(key, value);
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const el = (tag, attributes = {}, ...children) => build(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => build(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);
const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

// Words for a hand on glass, or for one on a mouse.
const touches = matchMedia("(hover: none)").matches;

function percent(p) {
  if (p > 0 && p < 0.0005) return "< 0.1 %";
  if (p < 1 && p > 0.9995) return "> 99.9 %";
  return `${(100 * p).toFixed(1)} %`;
}

// Up to `digits` significant digits, without exponents where numbers are of everyday size.
function short(value, digits = 3) {
  if (value === null) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-4 || size >= 1e7) ? value.toExponential(2) : String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
}

// As `percent`, but as a number: not 0 or 1 unless it is.
const area = (value) => (value > 0 && value < 0.0005 ? "< 0.001" : value < 1 && value > 0.9995 ? "> 0.999" : short(value));

function signed(value, decimals = 2) {
  if (!Number.isFinite(value)) return short(value);
  const text = Math.abs(value).toFixed(decimals);
  return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
}

function cut(text, letters) {
  const characters = Array.from(text);
  return characters.length <= letters ? text : characters.slice(0, letters - 1).join("") + "…";
}

// A table: head is a list of cells, rows a list of lists; the first column names the row.
function dataTable(caption, head, rows, attributes = {}, frame = "") {
  const cell = (content, first) => (content instanceof Node ? content : el(first ? "th" : "td", first ? { scope: "row" } : {}, String(content)));
  return el("div", { class: `scroll ${frame}`, tabindex: "0", role: "region", "aria-label": caption },
    el("table", attributes,
      el("caption", {}, el("span", { class: "sr" }, caption)),
      el("thead", {}, el("tr", {}, head.map((name) => (name instanceof Node ? name : el("th", { scope: "col" }, String(name)))))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((content, k) => cell(content, k === 0)))))));
}
