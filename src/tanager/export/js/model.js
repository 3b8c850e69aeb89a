// P(class | row) from the constant MODEL: codes of cells look numbers up, and these add up.

const REFUSED = -1;
const isMissing = (code, node) => code === MODEL.columns[node].states;
const maps = MODEL.columns.map(({ codes }) => new Map(codes));
const ZONED = "times with a zone";

// Dates are microseconds since 1970. Text of a date is in ISO 8601; a Date is a moment, as a time with a zone is.
function asNumber(cell, column) {
  if (["dates", "times", ZONED].includes(column.holds)) {
    const zoned = column.holds === ZONED;
    return (cell instanceof Date && zoned ? 1000 * cell.getTime() : fromText(cell, zoned)) ?? refuse(cell, column);
  }
  const types = column.holds === "booleans" ? ["boolean"] : ["boolean", "number", "bigint"];
  return types.includes(typeof cell) ? Number(cell) : refuse(cell, column);
}

function refuse(cell, { name, holds }) {
  throw new TypeError(`column ${JSON.stringify(name)} holds ${JSON.stringify(cell)}; it held ${holds} in training`);
}

function fromText(text, zoned) {
  const [whole, seconds, fraction = "", zone] = /^(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d)?)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  if (whole === undefined || (zone !== undefined) !== zoned) return undefined;
  const time = seconds.length === 10 ? `${seconds}T00:00:00` : seconds.replace(" ", "T");
  const local = new Date(`${time}Z`);  // of 30 February that is 1 March
  if (Number.isNaN(local.getTime()) || !local.toISOString().startsWith(time)) return undefined;
  return 1000 * Date.parse(time + (zone ?? "Z")) + Number(fraction.padEnd(6, "0"));
}

function encode(cell, node) {
  const column = MODEL.columns[node];
  if (cell === null || cell === undefined || Number.isNaN(cell)) return column.missing;
  if (column.text) {
    return typeof cell === "string" ? maps[node].get(cell) ?? column.unseen : refuse(cell, column);
  }
  if (column.cuts === null && maps[node].size === 0) return column.unseen;
  const number = asNumber(cell, column);
  if (!Number.isFinite(number)) return REFUSED;
  if (column.cuts === null || maps[node].has(number)) return maps[node].get(number) ?? column.unseen;
  // How many cuts are at or below the number.
  let low = 0, high = column.cuts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column.cuts[middle] <= number) low = middle + 1; else high = middle;
  }
  return low;
}

const coarsen = (node, code) => (MODEL.columns[node].coarse ? MODEL.columns[node].coarse[code] : code);

// The sum of each class, of codes that all have entries.
function lookUp(codes) {
  const { intercept, terms } = MODEL;
  const logs = Float64Array.from(intercept);
  const coarse = codes.map((code, node) => coarsen(node, code));
  for (const { attributes, steps, table } of terms) {
    const from = attributes.length === 1 ? codes : coarse;
    let cell = 0;
    for (let k = 0; k < attributes.length; k++) cell += from[attributes[k]] * steps[k];
    for (let c = 0; c < logs.length; c++) logs[c] += table[cell + c];
  }
  if (MODEL.forest) {
    const { roots, classes, attributes, ends, offsets, left, values } = MODEL.forest;
    for (let tree = 0; tree < roots.length; tree++) {
      let at = roots[tree];
      while (at >= 0) at = ends[2 * at + left[offsets[at] + codes[attributes[at]]]];
      logs[classes[tree]] += values[~at];
    }
  }
  return logs;
}

const complete = (codes) => normalize(lookUp(codes));
const withGaps = makeWithGaps();

/**
 * P(class | row), in the order of `classes`; all NaN where the model refuses the row.
 * @param {Object<string, string | number | boolean | Date | null>} row cells by column; null and NaN are missing
 * @returns {number[]}
 */
export function predictProba(row) {
  const codes = MODEL.columns.map(({ name }, node) => {
    if (!Object.hasOwn(row, name)) throw new TypeError(`the row has no column ${JSON.stringify(name)}`);
    return encode(row[name], node);
  });
  const shares = codes.includes(REFUSED) ? null : codes.some(isMissing) ? withGaps(codes) : complete(codes);
  return shares ?? MODEL.intercept.map(() => NaN);
}

// The number of the class decided for; -1 where a person is to be asked.
function decide(shares) {
  if (!MODEL.decision) return shares.indexOf(Math.max(...shares));
  const { losses, price, positive, threshold } = MODEL.decision;
  const expected = shares.map((_, k) => shares.reduce((sum, share, c) => sum + share * losses[c][k], 0));
  if (positive !== null) expected[positive] = shares[positive] >= threshold ? -2 : 2;
  const least = Math.min(...expected);
  return price !== null && price < least ? -1 : expected.indexOf(least);
}

/**
 * The class decided for; null where a person is to be asked, and where the model refuses the row.
 * @param {Object<string, string | number | boolean | Date | null>} row
 */
export function predict(row) {
  const shares = predictProba(row);
  return shares.some(Number.isNaN) ? null : classes[decide(shares)] ?? null;
}
