// What the figures that read the hand-made words share: cut a sentence, read it, say where a word looks.

const NAMED = 3;

/** The words of a sentence, in lower case and without punctuation. */
function tokenise(sentence) {
  const letters = "[\\p{L}\\p{Nl}\\p{No}]+";
  return sentence.toLowerCase().match(new RegExp(`${letters}(?:['’]${letters})*`, "gu")) ?? [];
}

const known = (hand, token) => (Object.hasOwn(hand.words, token) ? hand.words[token] : null);
const has = (hand, token, feature) => known(hand, token)?.includes(hand.features.indexOf(feature)) ?? false;

/** The row vector x times a matrix that is given by its width and its entries [row, column, value]. */
function times(x, { width, entries }) {
  const y = Array(width).fill(0);
  for (const [i, j, value] of entries) y[j] += x[i] * value;
  return y;
}

const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);

/** What is added to the score that word t gives word s: the sum over entries [layer, t, s, b]. */
const added = (biases, ...place) =>
  biases.filter((one) => place.every((at, i) => one[i] === at)).reduce((sum, [, , , b]) => sum + b, 0);

/** Send words through layers x + attention(x w_q, x w_k, x w_v); an unknown word starts as zero. */
function read(tokens, hand, biases = [], first = 1) {
  let x = tokens.map((token) => hand.features.map((_, i) => Number(known(hand, token)?.includes(i) ?? false)));
  const weights = [], vectors = [x], tables = [];
  for (const [i, { w_q, w_k, w_v }] of hand.layers.slice(first - 1).entries()) {
    const [q, k, v] = [w_q, w_k, w_v].map((w) => x.map((one) => times(one, w)));
    const scale = 1 / Math.sqrt(w_q.width);
    const scores = q.map((ask, t) => k.map((key, s) => scale * dot(ask, key) + added(biases, first + i, t, s)));
    const table = scores.map((one) => softmax(one));
    x = x.map((one, t) => one.map((value, i) => value + table[t].reduce((sum, p, s) => sum + p * v[s][i], 0)));
    weights.push(table);
    vectors.push(x);
    tables.push({ q, k, v, scores });
  }
  return { weights, vectors, tables };
}

/** Where a word looks: the weights that stand out, largest first, and the least one. */
function describe(word, tokens, weights) {
  const billionths = weights.map((p) => Math.round(1e9 * p)), least = Math.min(...billionths);
  const above = [...tokens.keys()].filter((s) => billionths[s] > least).sort((s, t) => billionths[t] - billionths[s]);
  if (!above.length) return `“${word}” looks alike at all words: 1/${tokens.length} at each`;
  const shown = above.slice(0, NAMED).map((s) => `${fmt(weights[s])} at ${tokens[s]}`).join(", ");
  const rest = above.length > NAMED ? "no more than that at any" : `${fmt(Math.min(...weights))} at each`;
  return `“${word}” looks ${shown} and ${rest} other word`;
}

/** The place of the first pronoun, or 0. */
const pronoun = (hand, tokens) => Math.max(0, tokens.findIndex((token) => has(hand, token, "pronoun")));
