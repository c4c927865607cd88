// Cards of numbers: a density with its mean and 95% interval, whose evidence is a number or an interval; and utilities.
import { html, useRef, useState } from "./vendor/preact-htm.js";
import { Typed } from "./typed.js";

const TALL = 62; // pixels of a density
const short = (x) => String(Number(Number(x).toPrecision(4)));

const PARTS = /(?<=[\s_.-])|(?<=\p{Ll})(?=\p{Lu})/u; // of a name: bill_ depth_ mm, Tuberculosis Or Cancer

// A card's place and size; letters of the name and of its longest part, by which its size is chosen: it breaks between parts.
export const placed = (name, card, width) => ({
  "--length": name.length, "--letters": Math.max(...name.split(PARTS).map((part) => part.length)), left: `${card.x}px`, top: `${card.y}px`, width: `${width}px`, height: `${card.height}px`,
});

export const Name = ({ of }) => html`<bdi>${of.split(PARTS).flatMap((part, i) => (i ? [html`<wbr />`, part] : [part]))}</bdi>`;

// What a finding of a number says, as it is typed: 39, > 38, 36 to 38.
export const intervalText = (found) =>
  found === undefined ? "" : typeof found !== "object" ? `= ${found}` : found.low == null ? `< ${found.high}` : found.high == null ? `> ${found.low}` : `${found.low} to ${found.high}`;

const NUMBER = "[-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][-+]?\\d+)?";
const ONE = new RegExp(`^(=|<|>)?\\s*(${NUMBER})$`), TWO = new RegExp(`^(${NUMBER})\\s*(?:to|\\.\\.|–)\\s*(${NUMBER})$`);

// undefined where there is nothing, null where it can't be read.
export function findingIn(text) {
  const trimmed = text.trim();
  if (!trimmed) return undefined;
  const one = ONE.exec(trimmed), two = TWO.exec(trimmed);
  if (two) return { low: Number(two[1]), high: Number(two[2]) };
  if (!one) return null;
  const value = Number(one[2]);
  return one[1] === "<" ? { low: null, high: value } : one[1] === ">" ? { low: value, high: null } : value;
}

export function NumberCard({ variable, width, beyond, number, card, shares, ghost, prior, finding, set, chosen, conflict, find, change, focused }) {
  const { name } = variable, now = shares ?? prior;
  const [unread, setUnread] = useState(null); // what was typed and can't be read
  const brush = useRef(null);
  const first = Math.min(now.x[0], prior.x[0]), last = Math.max(now.x.at(-1), prior.x.at(-1)), span = last - first || 1;
  const at = (x) => ((x - first) / span) * width;
  const path = (found) => {
    const most = Math.max(...found.y) || 1;
    return found.x.map((x, i) => `${i ? "L" : "M"}${at(x).toFixed(1)} ${(TALL - 3 - (found.y[i] / most) * (TALL - 8)).toFixed(1)}`).join("");
  };
  const step = 10 ** Math.floor(Math.log10(span / 200)), rounded = (x) => Number((Math.round(x / step) * step).toPrecision(8));
  const value = (event, box) => rounded(first + ((event.clientX - box.left) / box.width) * span);
  const down = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    brush.current = { x: event.clientX, from: value(event, box) };
    const up = (end) => {
      removeEventListener("pointerup", up);
      const to = value(end, box), { from, x } = brush.current;
      setUnread(null);
      find(name, Math.abs(end.clientX - x) < 4 || to === from ? from : { low: Math.min(from, to), high: Math.max(from, to) });
    };
    addEventListener("pointerup", up);
  };
  const typed = (text) => {
    const found = findingIn(text);
    setUnread(found === null ? text : null);
    if (found !== null) find(name, found);
  };
  const given = set ?? finding, role = set !== undefined ? "set" : finding !== undefined ? "seen" : "";
  return html`<section class=${`card number ${role} ${conflict ? "conflict" : ""} ${chosen ? "chosen" : ""}`} id=${`card-${number}`} tabindex="-1" aria-label=${name}
      style=${placed(name, card, width)}>
    <button class="name" title=${name} aria-pressed=${Boolean(chosen)} onClick=${() => change({ target: chosen ? null : { name }, around: focused ? undefined : name })}><${Name} of=${name} />${beyond ? html`<span class="beyond">+${beyond}</span>` : ""}</button>
    <svg class="density" viewBox=${`0 0 ${width} ${TALL}`} role="img" aria-label=${`Density of ${name}: mean ${short(now.mean)}, 95% from ${short(now.low)} to ${short(now.high)}`} onPointerDown=${down}>
      <rect x=${at(now.low)} width=${Math.max(1, at(now.high) - at(now.low))} y="0" height=${TALL} class="range" />
      ${ghost && ghost.x.length > 1 && html`<path d=${path(ghost)} class="before" />`}
      ${now.x.length > 1 && html`<path d=${path(now)} class="now" />`}
      <line x1=${at(now.mean)} x2=${at(now.mean)} y1="0" y2=${TALL} class="mean" /></svg>
    <p class="figures-of"><b>${short(now.mean)}</b>${now.sd > 0 ? html` ± ${short(now.sd.toPrecision(2))} <span>95% ${short(now.low)} – ${short(now.high)}</span>` : ""}</p>
    <${Typed} value=${unread ?? intervalText(given)} placeholder=${`${short(prior.mean)} or > ${short(prior.mean)}`} aria-label=${`Evidence of ${name}: a number or an interval`} aria-invalid=${unread !== null}
      title="a number, or an interval: > 38, < 40, 36 to 38; or click the curve, or drag over it" settle=${typed} />
  </section>`;
}

export function UtilityCard({ variable, width, number, card, shares, ghost }) {
  return html`<section class="card utility" id=${`card-${number}`} tabindex="-1" aria-label=${variable.name} style=${placed(variable.name, card, width)}>
    <div class="name" title=${variable.name}>◇ <${Name} of=${variable.name} /></div>
    <p class="figures-of">${shares == null ? html`<span>…</span>` : html`<b>${short(shares)}</b> <span>${ghost != null && short(ghost) !== short(shares) ? `before ${short(ghost)}` : "expected"}</span>`}</p></section>`;
}
