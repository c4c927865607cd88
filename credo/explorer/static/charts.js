// Small charts: bars of probabilities, and lines over a number. They are SVG and HTML, from numbers alone.
import { html } from "./vendor/preact-htm.js";

export const percent = (p) => (p > 0 && p < 0.0005 ? "<0.1%" : p < 1 && p > 0.9995 ? ">99.9%" : `${(100 * p).toFixed(1)}%`);

const PALETTE = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb"];
export const colour = (k) => PALETTE[k % PALETTE.length];

// How much of a bar is filled: scaled, as that moves without a new layout.
export const filled = (share) => ({ transform: `scaleX(${share})` });

export function Bars({ names, shares, chosen, choose }) {
  const order = shares.map((_, k) => k).sort((a, b) => shares[b] - shares[a]).slice(0, 12);
  return html`<ul class="bars">${order.map((k) => html`<li key=${names[k]}><button aria-pressed=${chosen === names[k]} onClick=${() => choose?.(names[k])}>
    <span class="share" style=${{ ...filled(shares[k]), background: colour(k) }}></span><span class="label"><bdi>${names[k]}</bdi></span><span>${percent(shares[k])}</span></button></li>`)}</ul>
    ${names.length > order.length && html`<p class="faint">${names.length - order.length} more classes</p>`}`;
}

// Which colour is whose: of classes, by their order, unless colours are given.
export function Legend({ names, colours = names.map((_, k) => colour(k)) }) {
  return html`<p class="faint legend">${names.map((name, k) => html`<span key=${k}><span class="key" style=${{ background: colours[k] }}></span><bdi>${name}</bdi></span> `)}</p>`;
}

// Round numbers between two ends.
export function ticks(low, high, most) {
  const span = high - low || 1, rough = span / most, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((each) => each * unit >= rough * 0.999);
  const from = Math.ceil(low / step - 1e-9), count = Math.floor((high - from * step) / step + 1e-9) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, k) => Number(((from + k) * step).toPrecision(12)));
}

// A curve's height at x; outside it is 0.
export function interpolated(curve, x) {
  const i = curve.x.findIndex((each) => each >= x);
  if (i <= 0) return i === 0 && curve.x[0] === x ? curve.y[0] : 0;
  const part = (x - curve.x[i - 1]) / (curve.x[i] - curve.x[i - 1]);
  return curve.y[i - 1] * (1 - part) + curve.y[i] * part;
}

// Of days since 1970, and back.
const dateOf = (days) => new Date(Math.round(days) * 864e5).toISOString().slice(0, 10);
export const dayOf = (date) => (date == null || date === "" ? undefined : Date.parse(date) / 864e5);

// Lines over x, cut off above `top`, with round numbers below; `upright` writes numbers beside them, `at` marks a value, `steps` draws bins by
// their beginnings. A small one has its ends written below.
export function Lines({ x, ys, names = [], at, top, steps = false, small = false, styles = [], upright, signed = false, dates = false }) {
  const width = small ? 220 : 420, tall = small ? 60 : 190, left = upright ? 40 : small ? 4 : 18, right = small ? 4 : 18, foot = small ? 15 : 18, over = small ? 3 : 8;
  const low = x[0], high = x[x.length - 1], span = high - low || 1;
  const finite = ys.flat().filter(Number.isFinite);
  const least = signed ? Math.min(...finite) : 0, most = top ?? (signed ? Math.max(...finite) : Math.max(1e-300, ...finite) * 1.05), tallest = most - least || 1;
  const px = (value) => left + ((value - low) / span) * (width - left - right), py = (value) => tall - foot - ((Math.min(value, 3 * most) - least) / tallest) * (tall - foot - over);
  const path = (y) => {
    const known = y.map((value, i) => [px(x[i]).toFixed(1), value]).filter(([, value]) => Number.isFinite(value));
    const point = ([at, value], i) => (steps && i ? `H${at} V${py(value).toFixed(1)}` : `${i ? "L" : "M"}${at} ${py(value).toFixed(1)}`);
    return known.map(point).join(" ") + (steps ? ` H${px(high).toFixed(1)}` : "");
  };
  const said = (value) => (dates ? dateOf(value) : String(Number(value.toPrecision(3)))), ends = `from ${said(low)} to ${said(high)}`;
  const described = names.length ? `Curves of ${names.slice(0, ys.length).join(", ")} ${ends}` : ends;
  const below = small ? [[low, "start", said(low)], [high, "end", said(high)]] : ticks(low, high, dates ? 4 : 6).map((value) => [value, "middle", dates ? dateOf(value) : value]);
  return html`<svg class="lines" viewBox=${`0 0 ${width} ${tall}`} role="img" aria-label=${described}>
    <line x1=${left} x2=${width - right} y1=${tall - foot} y2=${tall - foot} class="axis" />
    ${below.map(([value, anchor, text]) => html`<text x=${px(value)} y=${tall - 4} text-anchor=${anchor}>${text}</text>`)}
    ${upright && ticks(least, most, 4).map((value) => html`<line x1=${left} x2=${width - right} y1=${py(value)} y2=${py(value)} class="axis" /><text x=${left - 4} y=${py(value) + 3} text-anchor="end">${upright(value)}</text>`)}
    ${ys.map((y, k) => html`<path key=${k} d=${path(y)} stroke=${styles[k]?.colour ?? colour(k)} stroke-dasharray=${styles[k]?.dashes} fill="none" stroke-width=${small ? 1.4 : 2} />`)}
    ${Number.isFinite(at) && at >= low && at <= high && html`<line x1=${px(at)} x2=${px(at)} y1="0" y2=${tall - foot} class="now" />`}
  </svg>`;
}
