// The storyteller in the page: its tokens, what it computes with a cache, and how it chooses.
// The numbers are those of tformer.reference; weights are what tformer_book.storyteller.packed wrote.

// ---- text and tokens -----------------------------------------------------------------------

const WHITE = " \\t\\n\\v\\f\\r\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
/** The cut of tformer.tokens.pretokenizer: not \s, which is another set of characters here than there. */
const WORDS = new RegExp(`'(?:[stmd]|re|ve|ll)| ?\\p{L}+|\\p{N}| ?[^${WHITE}\\p{L}\\p{N}]+`
  + `|[${WHITE}]+(?![^${WHITE}\\p{N}])|[${WHITE}]+`, "gu");

/** Byte-level BPE as tformer.tokens.BPE.from_merges makes it. */
function tokenizer(merges) {
  const shown = (byte) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  const letters = [], bytes = new Map();
  for (let byte = 0, other = 256; byte < 256; byte++) {
    letters.push(String.fromCharCode(shown(byte) ? byte : other++));
    bytes.set(letters[byte], byte);
  }
  const tokens = [...letters].sort(), number = new Map(tokens.map((token, i) => [token, i]));
  for (const merge of merges) {
    const whole = merge.replace(" ", "");
    if (!number.has(whole)) number.set(whole, tokens.push(whole) - 1);
  }
  const size = tokens.length, ranks = new Map(), made = [], known = new Map();
  merges.forEach((merge, rank) => {
    const [left, right] = merge.split(" ");
    ranks.set(number.get(left) * size + number.get(right), rank);
    made.push(number.get(left + right));
  });
  const written = new TextEncoder(), ofByte = letters.map((letter) => number.get(letter));
  /** Of all pairs in a word the one told first is merged, the leftmost of these. */
  const word = (text) => {
    const row = Array.from(written.encode(text), (byte) => ofByte[byte]);
    for (;;) {
      let best = Infinity, at = 0;
      for (let i = 0; i + 1 < row.length; i++) {
        const rank = ranks.get(row[i] * size + row[i + 1]) ?? Infinity;
        if (rank < best) [best, at] = [rank, i];
      }
      if (best === Infinity) return row;
      row.splice(at, 2, made[best]);
    }
  };
  const encode = (text) => (text.match(WORDS) ?? []).flatMap((one) => {
    if (!known.has(one)) known.set(one, word(one));
    return known.get(one);
  });
  const bytesOf = (one) => Array.from(tokens[one], (letter) => bytes.get(letter));
  const decode = (row) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(row.flatMap(bytesOf)));
  return { encode, decode, bytesOf, size };
}

// ---- weights ---------------------------------------------------------------------------------

const UNITS = Array.from({ length: 32 }, (_, e) => 2 ** (Math.max(e, 1) - 25));

/** A finite number in float16, from its upper and lower byte. */
function half(upper, lower) {
  const e = (upper >> 2) & 31, m = (e && 1024) + ((upper & 3) << 8) + lower;
  return (upper & 128 ? -m : m) * UNITS[e];
}

/** The model of a file that tformer_book.storyteller.packed wrote, decompressed. */
function unpackTeller(file) {
  const end = file.indexOf(10), about = JSON.parse(new TextDecoder().decode(file.subarray(0, end)));
  const n = (file.length - end - 1) / 2, upper = file.subarray(end + 1, end + 1 + n), lower = file.subarray(end + 1 + n);
  let at = 0;
  const table = (size) => Float32Array.from({ length: size }, () => half(upper[at], lower[at++]));
  const { d, dK, dFF, heads, layers, nVocab, places, base } = about, inner = heads * dK;
  const E = table(nVocab * d), blocks = [];
  for (let l = 0; l < layers; l++) {
    blocks.push({ gain: table(d), qkv: woven(table(3 * inner * d), d), o: woven(table(d * inner), inner),
      feedGain: table(d), hidden: woven(table(2 * dFF * d), d), out: woven(table(d * dFF), dFF) });
  }
  const cos = new Float32Array((places * dK) / 2), sin = new Float32Array(cos.length);
  cos.forEach((_, i) => {
    const angle = Math.floor(i / (dK / 2)) * base ** ((-2 * (i % (dK / 2))) / dK);
    [cos[i], sin[i]] = [Math.cos(angle), Math.sin(angle)];
  });
  return { ...about, inner, E, blocks, gain: table(d), U: woven(table(nVocab * d), d), cos, sin, tokens: tokenizer(about.merges) };
}

/** The bytes that a widget's class has in `held`: from Python, or in a page from a file beside it. */
function held(model) {
  return new Promise((done, fail) => {
    const late = setTimeout(() => fail(new Error("nothing answers; run this cell")), 20000);
    const hear = (content, buffers) => {
      if (content?.ask !== "held") return;
      clearTimeout(late);
      model.off("msg:custom", hear);
      const [view] = buffers ?? [];
      if (view) done(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
      else fail(new Error(content.error));
    };
    model.on("msg:custom", hear);
    model.send({ ask: "held" });
  });
}

async function gunzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Call `load` once, when an element comes near the screen or is touched. */
function whenNear(el, load) {
  const begin = () => {
    end();
    load();
  };
  const watching = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) begin(); }, { rootMargin: "250px" });
  const end = () => {
    watching.disconnect();
    el.removeEventListener("focusin", begin);
  };
  watching.observe(el);
  el.addEventListener("focusin", begin);
  return end;
}

// ---- what it computes ------------------------------------------------------------------------

const LANES = 8;

/** A table of rows laid so that eight rows are read together, filled up with zeros; in doubles, which need no conversion. */
function woven(rows, n) {
  const found = new Float64Array(Math.ceil(rows.length / n / LANES) * LANES * n);
  rows.forEach((value, at) => {
    const j = Math.floor(at / n), i = at % n;
    found[(j - (j % LANES)) * n + i * LANES + (j % LANES)] = value;
  });
  return found;
}

/** y = W x for a woven table: eight sums at a time, so that none has to wait for itself. */
function matvec(W, x, y, n) {
  for (let at = 0, j = 0; at < W.length; j += LANES) {
    let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, k = 0;
    for (let i = 0; i < n; i++, at += LANES) {
      const v = x[i];
      a += v * W[at]; b += v * W[at + 1]; c += v * W[at + 2]; d += v * W[at + 3];
      e += v * W[at + 4]; f += v * W[at + 5]; g += v * W[at + 6]; k += v * W[at + 7];
    }
    y[j] = a; y[j + 1] = b; y[j + 2] = c; y[j + 3] = d; y[j + 4] = e; y[j + 5] = f; y[j + 6] = g; y[j + 7] = k;
  }
}

/** RMS norm of n numbers of x from place `at`. */
function rms(x, at, n, gain, eps, y) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += x[at + i] * x[at + i];
  const by = 1 / Math.sqrt(sum / n + eps);
  for (let i = 0; i < n; i++) y[i] = x[at + i] * by * gain[i];
}

/** A reader that keeps keys, values, weights and vectors of what it has read; heads named in `off` write nothing. */
function reader(model, off = []) {
  const { d, dK, dFF, heads, layers, inner, places, eps, E, blocks, cos, sin, nVocab } = model, stages = 2 * layers + 1;
  const K = blocks.map(() => new Float64Array(places * inner)), V = blocks.map(() => new Float64Array(places * inner));
  const looks = new Float32Array(layers * heads * places * places), vectors = new Float64Array(stages * places * d);
  const x = new Float64Array(d), normed = new Float64Array(d), qkv = new Float64Array(3 * inner), seen = new Float64Array(inner);
  const hidden = new Float64Array(2 * dFF), added = new Float64Array(d), scores = new Float64Array(places), mixed = new Float64Array(dK), scale = 1 / Math.sqrt(dK), silent = new Set(off);
  const read = [], said = new Float64Array(model.U.length / d);
  const keep = (stage, t) => vectors.set(x, (stage * places + t) * d);
  const turn = (row, at, t) => {
    const m = dK / 2, wave = t * m;
    for (let i = 0; i < m; i++) {
      const one = row[at + i], two = row[at + m + i], c = cos[wave + i], s = sin[wave + i];
      row[at + i] = one * c - two * s;
      row[at + m + i] = one * s + two * c;
    }
  };
  const look = (l, head, t) => {
    const at = head * dK, from = head * places * dK, start = ((l * heads + head) * places + t) * places, keys = K[l], values = V[l];
    keys.set(qkv.subarray(inner + at, inner + at + dK), from + t * dK);
    values.set(qkv.subarray(2 * inner + at, 2 * inner + at + dK), from + t * dK);
    let top = -Infinity, sum = 0;
    for (let s = 0, j = from; s <= t; s++) {
      let one = 0, two = 0;
      for (let i = at; i < at + dK; i += 2, j += 2) {
        one += qkv[i] * keys[j];
        two += qkv[i + 1] * keys[j + 1];
      }
      scores[s] = (one + two) * scale;
      if (scores[s] > top) top = scores[s];
    }
    for (let s = 0; s <= t; s++) sum += scores[s] = Math.exp(scores[s] - top);
    mixed.fill(0);
    for (let s = 0, j = from; s <= t; s++) {
      const share = looks[start + s] = scores[s] / sum;
      for (let i = 0; i < dK; i++, j++) mixed[i] += share * values[j];
    }
    if (silent.has(l * heads + head)) mixed.fill(0);
    seen.set(mixed, at);
  };
  const add = () => { for (let i = 0; i < d; i++) x[i] += added[i]; };
  const step = (token) => {
    const t = read.length;
    x.set(E.subarray(token * d, (token + 1) * d));
    keep(0, t);
    blocks.forEach((block, l) => {
      rms(x, 0, d, block.gain, eps, normed);
      matvec(block.qkv, normed, qkv, d);
      for (let head = 0; head < 2 * heads; head++) turn(qkv, head * dK, t);
      for (let head = 0; head < heads; head++) look(l, head, t);
      matvec(block.o, seen, added, inner);
      add();
      keep(2 * l + 1, t);
      rms(x, 0, d, block.feedGain, eps, normed);
      matvec(block.hidden, normed, hidden, d);
      for (let i = 0; i < dFF; i++) hidden[i] *= hidden[dFF + i] / (1 + Math.exp(-hidden[i]));
      matvec(block.out, hidden, added, dFF);
      add();
      keep(2 * l + 2, t);
    });
    read.push(token);
  };
  return {
    /** Read a row; what stands in the cache already is not read again. Returns how many steps that took. */
    read: (row) => {
      let same = 0;
      while (same < row.length && row[same] === read[same]) same++;
      read.length = same;
      for (let t = same; t < row.length; t++) step(row[t]);
      return row.length - same;
    },
    /** Scores of the next token, as the vector at a place and stage says them; the last of both if left out. */
    logits: (t = read.length - 1, stage = stages - 1) => {
      rms(vectors, (stage * places + t) * d, d, model.gain, eps, normed);
      matvec(model.U, normed, said, d);
      return said.slice(0, nVocab);
    },
    weights: (l, head, t) => {
      const start = ((l * heads + head) * places + t) * places;
      return looks.subarray(start, start + t + 1);
    },
    get length() { return read.length; },
    stages,
  };
}

// ---- how it chooses --------------------------------------------------------------------------

/** Probabilities after temperature, top-k, top-p and min-p in turn, as tformer.reference has them; 0 is greedy. */
function chances(logits, { temperature = 1, k = 0, p = 1, m = 0 } = {}) {
  const n = logits.length, found = new Float64Array(n);
  let best = 0;
  for (let i = 1; i < n; i++) if (logits[i] > logits[best]) best = i;
  if (temperature === 0) {
    found[best] = 1;
    return found;
  }
  for (let i = 0; i < n; i++) found[i] = Math.exp((logits[i] - logits[best]) / temperature);
  let least = m; // of what the likeliest has, which is 1 so far; words that tie have one fate
  if ((k > 0 && k < n) || p < 1) {
    const falling = Float64Array.from(found).sort().reverse(), after = falling[k > 0 ? Math.min(k, n) - 1 : n - 1];
    let kept = 0, whole = 0, told = 0;
    while (kept < n && falling[kept] >= after) whole += falling[kept++];
    let last = 0;
    while (last < kept && (p >= 1 || told < p * whole)) told += falling[last++];
    least = Math.max(least, falling[Math.max(last - 1, 0)]);
  }
  let sum = 0;
  for (let i = 0; i < n; i++) sum += found[i] = found[i] < least ? 0 : found[i];
  for (let i = 0; i < n; i++) found[i] /= sum;
  return found;
}

/** The first word at which the sum of the probabilities exceeds u, a number from 0 to below 1. */
function drawn(p, u) {
  let whole = 0, sum = 0, at = 0;
  for (let i = 0; i < p.length; i++) whole += p[i];
  while ((sum += p[at]) <= u * whole && sum < whole) at++;
  return at;
}

/** Numbers from 0 to 1 that are the same for the same seed (Mulberry32). */
function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
