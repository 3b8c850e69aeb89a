// What the report page and exported models share.

const range = (n) => Array.from({ length: n }, (_, k) => k);

function normalize(logs) {
  const highest = Math.max(...logs);
  if (highest === -Infinity) return null;
  const shares = Array.from(logs, (value) => Math.exp(value - highest));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => share / total);
}
