"""The parts of a C header that are the same for every model; @ is replaced by the name it was given."""

from __future__ import annotations

NORMALIZE = """\
/* exp(p) divided by its sum; -1 where all are impossible. Gives the most probable class. */
static inline int @_normalize(double *p) {
    double total = 0.0;
    int c, best = 0;
    for (c = 1; c < @_n_classes; c++) if (p[c] > p[best]) best = c;
    const double highest = p[best];
    for (c = 0; c < @_n_classes; c++) { p[c] = exp(p[c] - highest); total += p[c]; }
    for (c = 0; c < @_n_classes; c++) p[c] /= total;
    return isnan(total) ? -1 : best;
}
"""
MIX = """\
/* p = log(exp(p) + exp(q)) of each class. */
static inline void @_mix(double *p, const double *q) {
    int c;
    for (c = 0; c < @_n_classes; c++) {
        const double high = p[c] > q[c] ? p[c] : q[c], low = p[c] > q[c] ? q[c] : p[c];
        p[c] = low == -INFINITY ? high : high + log1p(exp(low - high));
    }
}
"""
DECIDE = """\
/* The class that is expected to cost least, by p; -1 stays. */
static inline int @_decide(const double *p, int best) {
    double least = INFINITY;
    int c, k;
    if (best < 0) return best;
    for (k = 0; k < @_n_classes; k++) {
        double expected = 0.0;
        for (c = 0; c < @_n_classes; c++) expected += p[c] * @_losses[c * @_n_classes + k];
        CHOSEN
        if (expected < least) { least = expected; best = k; }
    }
    ASK
    return best;
}
"""
FIND = """\
/* Where a text is among sorted ones; -1 for none. */
static inline int @_find(const char *text, const char *const *sorted, int n) {
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2, order = strcmp(sorted[middle], text);
        if (order == 0) return middle;
        if (order < 0) low = middle + 1; else high = middle;
    }
    return -1;
}
"""
ADD = """\
static inline void @_add(double *p, const double *term) {
    int c;
    for (c = 0; c < @_n_classes; c++) p[c] += term[c];
}
"""
FOREST = """\
    {
        int tree;
        for (tree = 0; tree < (int)(sizeof @_roots / sizeof @_roots[0]); tree++) {
            int at = @_roots[tree];
            while (at >= 0) at = @_ends[2 * at + @_left[@_offsets[at] + code[@_asked[at]]]];
            p[@_of_class[tree]] += @_leaves[~at];
        }
    }"""
SUM_OUT = """\
/* What an attribute and all below it add to its parent, its own cell looked up or summed out. The parent's cell is
   `at`, of n_above states, or of none where the class is the only parent; `above` takes the sums of each state. */
static inline void @_sum_out(double *p, const double *term, double (*above)[@_n_classes], int at, int n_above,
                         double (*below)[@_n_classes], int code, int n) {
    const int known = n_above == 0 || at < n_above;
    const int first = n_above == 0 || !known ? 0 : at, last = n_above == 0 ? 0 : known ? at : n_above - 1;
    int parent, c, s;
    for (parent = first; parent <= last; parent++) {
        double *out = known ? p : above[parent];
        for (c = 0; c < @_n_classes; c++) {
            const double *row = term + parent * n * @_n_classes + c;
            double highest = -INFINITY, total = 0.0;
            if (code < n) { out[c] += row[code * @_n_classes] + below[code][c]; continue; }
            for (s = 0; s < n; s++) highest = fmax(highest, row[s * @_n_classes] + below[s][c]);
            if (highest > -INFINITY)
                for (s = 0; s < n; s++) total += exp(row[s * @_n_classes] + below[s][c] - highest);
            out[c] += highest > -INFINITY ? highest + log(total) : highest;
        }
    }
}
"""
