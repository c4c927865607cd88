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

// Lines over x; `at` marks a value, `steps` draws bins by their beginnings.
export function Lines({ x, ys, names = [], at, top, steps = false, small = false, styles = [], labels = false, signed = false }) {
  const width = small ? 220 : 420, tall = small ? 46 : 190, pad = labels ? 30 : 4;
  const low = x[0], high = x[x.length - 1], span = high - low || 1;
  const finite = ys.flat().filter(Number.isFinite);
  const least = signed ? Math.min(...finite) : 0, most = top ?? (signed ? Math.max(...finite) : Math.max(1e-300, ...finite) * 1.05), tallest = most - least || 1;
  const px = (value) => pad + ((value - low) / span) * (width - 2 * pad), py = (value) => tall - (labels ? 18 : 3) - ((Math.min(value, most) - least) / tallest) * (tall - (labels ? 24 : 6));
  const path = (y) => {
    const known = y.map((value, i) => [px(x[i]).toFixed(1), value]).filter(([, value]) => Number.isFinite(value));
    const point = ([at, value], i) => (steps && i ? `H${at} V${py(value).toFixed(1)}` : `${i ? "L" : "M"}${at} ${py(value).toFixed(1)}`);
    return known.map(point).join(" ") + (steps ? ` H${px(high).toFixed(1)}` : "");
  };
  const described = names.length ? `Curves of ${names.slice(0, ys.length).join(", ")} from ${low.toPrecision(3)} to ${high.toPrecision(3)}` : `From ${low.toPrecision(3)} to ${high.toPrecision(3)}`;
  return html`<svg class="lines" viewBox=${`0 0 ${width} ${tall}`} role="img" aria-label=${described}>
    ${labels && html`<line x1=${pad} x2=${width - pad} y1=${tall - 18} y2=${tall - 18} class="axis" />
      ${[0, 0.25, 0.5, 0.75, 1].map((part) => html`<text x=${pad + part * (width - 2 * pad)} y=${tall - 4} text-anchor="middle">${Number((low + part * span).toPrecision(3))}</text>`)}`}
    ${ys.map((y, k) => html`<path key=${k} d=${path(y)} stroke=${styles[k]?.colour ?? colour(k)} stroke-dasharray=${styles[k]?.dashes} fill="none" stroke-width=${small ? 1.4 : 2} />`)}
    ${Number.isFinite(at) && html`<line x1=${px(at)} x2=${px(at)} y1="0" y2=${tall} class="now" />`}
  </svg>`;
}
