// A board of cards, one for each variable, in layers with arrows between them: pan, zoom, and findings on cards.
import { html, useEffect, useMemo, useRef, useState } from "./vendor/preact-htm.js";
import { percent } from "./charts.js";
import { Name, NumberCard, UtilityCard, intervalText, placed } from "./number_card.js";

const LEGIBLE = 0.38; // the smallest scale at which a page opens: names are large then; "all" shows the rest
const FAR = 0.5; // below this scale cards show their names and bars, without figures
const CARD = 184, GAP = 36, LINE = 24, HEAD = 34, SHOWN = 8, LAYER = 56, BUTTONS = 44;
const height = ({ states, number, role }) => HEAD + (number ? 126 : role === "utility" ? 38 : LINE * Math.min(SHOWN, states.length) + 8);

export function Board({ model, byName, places, shares, ghost, given, done, target, conflict, find, change, around, sought, edges }) {
  const sure = useMemo(() => edges && Object.fromEntries(edges.arrows.map((each) => [`${each.from}\u0000${each.to}`, each.probability])), [edges]);
  const box = useRef(null);
  const drawn = useMemo(() => arranged(places, byName), [places, byName]);
  const [view, setView] = useState(null);
  const fit = (least = 0.1) => {
    const room = box.current.getBoundingClientRect();
    const scale = Math.min(1, Math.max(least, Math.min(room.width / drawn.width, (room.height - BUTTONS) / drawn.height)));
    const wide = drawn.width * scale, tall = drawn.height * scale, middle = drawn.cards.find((card) => card.name === (around ?? target?.name));
    // What has no room is around the chosen variable, or begins at the top.
    const x = wide <= room.width || !middle ? (room.width - wide) / 2 : room.width / 2 - (middle.x + CARD / 2) * scale;
    const y = tall <= room.height || !middle ? 0 : Math.min(0, room.height / 2 - (middle.y + middle.height / 2) * scale);
    setView({ x, y, scale });
  };
  useEffect(() => fit(LEGIBLE), [drawn]);
  useEffect(() => {
    const card = sought && drawn.cards.find((each) => each.name === sought), room = box.current.getBoundingClientRect();
    if (!card) return;
    setView({ scale: 1, x: room.width / 2 - card.x - CARD / 2, y: room.height / 2 - card.y - card.height / 2 });
    document.getElementById(`card-${model.variables.indexOf(byName[sought])}`)?.focus({ preventScroll: true });
  }, [sought, drawn]);
  const zoom = (factor, x, y) =>
    setView((now) => {
      const scale = Math.min(2.5, Math.max(0.1, now.scale * factor));
      return { scale, x: x - ((x - now.x) * scale) / now.scale, y: y - ((y - now.y) * scale) / now.scale };
    });
  useEffect(() => {
    const wheel = (event) => {
      event.preventDefault();
      const room = box.current.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 400), event.clientX - room.left, event.clientY - room.top);
    };
    box.current.addEventListener("wheel", wheel, { passive: false });
    return () => box.current?.removeEventListener("wheel", wheel);
  }, []);
  const pan = (event) => {
    if (event.target.closest(".card") || event.target.closest(".zoom")) return;
    const start = { x: event.clientX, y: event.clientY }, from = view;
    const move = (to) => setView({ ...from, x: from.x + to.clientX - start.x, y: from.y + to.clientY - start.y });
    const end = () => (removeEventListener("pointermove", move), removeEventListener("pointerup", end));
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  };
  const middle = () => [box.current.clientWidth / 2, box.current.clientHeight / 2];
  const keys = (event) => {
    if (event.target !== box.current) return;
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) setView({ ...view, x: view.x + step[0], y: view.y + step[1] });
    else if (event.key === "+") zoom(1.25, ...middle());
    else if (event.key === "-") zoom(0.8, ...middle());
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  };
  return html`${places.hidden > 0 && html`<p class="hidden-ones">${places.hidden.toLocaleString("en")} more variables: find one, or click a name, to see its neighbours</p>`}
  <div class="canvas" ref=${box} onPointerDown=${pan} onKeyDown=${keys} tabindex="0" role="group"
      aria-label="Network: arrow keys move, plus and minus zoom, 0 shows all">
    ${view && html`<div class=${`sheet ${view.scale < FAR ? "far" : ""}`} style=${{ "--scale": view.scale, width: `${drawn.width}px`, height: `${drawn.height}px`, transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})` }}>
      <svg width=${drawn.width} height=${drawn.height} aria-hidden="true">
        <defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" markerWidth="10" markerHeight="10" orient="auto"><path d="M0 0 10 5 0 10z" /></marker></defs>
        ${drawn.ways.map((way) => html`<path key=${way.key} d=${way.path} style=${sure ? { strokeWidth: `${0.6 + 2.6 * (sure[way.key] ?? 1)}`, strokeOpacity: `${0.3 + 0.7 * (sure[way.key] ?? 1)}` } : undefined} marker-end=${model.directed ? "url(#tip)" : undefined} />`)}
      </svg>
      ${drawn.cards.map((card) => html`<${cardOf(byName[card.name])} key=${card.name} variable=${byName[card.name]} width=${CARD} beyond=${places.beyond?.[card.name]} number=${model.variables.indexOf(byName[card.name])} card=${card}
        shares=${shares[card.name]} ghost=${ghost[card.name]} prior=${model.prior?.[card.name]} finding=${given[card.name]} set=${done[card.name]}
        chosen=${target?.name === card.name ? target : null} conflict=${conflict.has(card.name)} find=${find} change=${change} focused=${around === card.name} />`)}
    </div>`}
    <div class="zoom only-live"><button aria-label="Zoom in" onClick=${() => zoom(1.25, ...middle())}>+</button>
      <button aria-label="Zoom out" onClick=${() => zoom(0.8, ...middle())}>−</button><button aria-label="Show all" onClick=${() => fit()}>all</button></div>
  </div>`;
}

// Places in pixels, from columns and layers.
function arranged(found, byName) {
  const entries = Object.entries(found.places);
  const layers = Math.max(0, ...entries.map(([, [, y]]) => y)) + 1;
  const tall = Array.from({ length: layers }, () => HEAD);
  for (const [name, [, y]] of entries) tall[y] = Math.max(tall[y], height(byName[name]));
  const top = tall.map((_, y) => 16 + tall.slice(0, y).reduce((sum, each) => sum + each + LAYER, 0));
  const left = (x) => 16 + x * (CARD + GAP);
  const cards = entries.map(([name, [x, y]]) => ({ name, x: left(x), y: top[y], height: height(byName[name]) }));
  const at = Object.fromEntries(cards.map((card) => [card.name, card]));
  const ways = found.arrows.map((arrow) => {
    const from = at[arrow.from], to = at[arrow.to];
    const points = [
      [from.x + CARD / 2, from.y + from.height],
      ...arrow.way.flatMap(([x, y]) => [[left(x) + CARD / 2, top[y]], [left(x) + CARD / 2, top[y] + tall[y]]]),
      [to.x + CARD / 2, to.y - 2],
    ];
    let path = `M${points[0]}`;
    for (let i = 1; i < points.length; i++) {
      const [a, b] = points[i - 1], [c, d] = points[i], half = (b + d) / 2;
      path += ` C${a} ${half} ${c} ${half} ${c} ${d}`;
    }
    return { key: `${arrow.from}\u0000${arrow.to}`, path };
  });
  return {
    cards, ways,
    width: Math.max(...cards.map((card) => card.x + CARD)) + 16,
    height: Math.max(...cards.map((card) => card.y + card.height)) + 16,
  };
}

const cardOf = (variable) => (variable.number ? NumberCard : variable.role === "utility" ? UtilityCard : Card);

function Card({ variable, width, beyond, number, card, shares, ghost, finding, set, chosen, conflict, find, change, focused }) {
  const { name, states, role: kind } = variable, chosenOnly = kind === "decision"; // an option is taken, or it isn't
  const drag = useRef(null);
  const likelihoods = finding && typeof finding === "object" && !Array.isArray(finding) ? finding : null;
  const excluded = Array.isArray(finding) ? new Set(states.filter((each) => !finding.includes(each))) : null;
  const pressed = (each) => finding === each || set === each;
  const click = (each, shift) => {
    if (shift && !chosenOnly) {
      const out = new Set(excluded ?? []);
      out.has(each) ? out.delete(each) : out.add(each);
      const left = states.filter((other) => !out.has(other));
      find(name, out.size && left.length ? left : undefined);
    } else find(name, pressed(each) ? undefined : each);
  };
  const weigh = (each, value, passing) => {
    const now = likelihoods ?? Object.fromEntries(states.map((other) => [other, 1]));
    const after = { ...now, [each]: Math.round(Math.max(0, Math.min(1, value)) * 100) / 100 };
    const all = Object.values(after);
    find(name, all.every((x) => x === 1) || all.every((x) => x === 0) ? undefined : after, passing);
  };
  const down = (event, each) => {
    if (chosenOnly) return;
    const bar = event.currentTarget.getBoundingClientRect();
    drag.current = { x: event.clientX, moved: false };
    const move = (to) => {
      if (Math.abs(to.clientX - drag.current.x) > 4) drag.current.moved = true;
      if (drag.current.moved) weigh(each, (to.clientX - bar.left) / bar.width, true);
    };
    const up = () => (removeEventListener("pointermove", move), removeEventListener("pointerup", up));
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  };
  const key = (event, each) => {
    const step = event.altKey && !chosenOnly && { ArrowLeft: -0.1, ArrowRight: 0.1 }[event.key];
    if (step) {
      weigh(each, (likelihoods?.[each] ?? 1) + step);
      event.preventDefault();
    }
  };
  const role = set !== undefined ? "set" : finding !== undefined ? "seen" : "";
  return html`<section class=${`card ${kind ?? ""} ${role} ${conflict ? "conflict" : ""} ${chosen ? "chosen" : ""}`} id=${`card-${number}`} tabindex="-1"
      aria-label=${name} style=${placed(name, card, width)}>
    <button class="name" title=${name} aria-pressed=${Boolean(chosen)} onClick=${() => change({ target: chosen ? null : { name }, around: focused ? undefined : name })}>${chosenOnly ? "□ " : ""}<${Name} of=${name} />${beyond ? html`<span class="beyond" title=${`${beyond} more neighbours: click to see them`}>+${beyond}</span>` : ""}</button>
    <div class="states">${states.map((each, i) => {
      const out = excluded?.has(each), p = shares?.[i] ?? 0, likely = likelihoods?.[each];
      return html`<button key=${each} class=${`state ${pressed(each) ? "given" : ""} ${out ? "out" : ""} ${chosen?.state === each ? "asked" : ""}`}
          aria-pressed=${pressed(each)} aria-label=${`${each} ${percent(p)}, ${name}${out ? ", excluded" : ""}${likely != null ? `, likelihood ${likely}` : ""}`}
          title=${chosenOnly ? "click: this option was taken" : "click: evidence; shift-click: not; drag: likelihood (alt + arrow keys)"}
          onPointerDown=${(event) => down(event, each)} onKeyDown=${(event) => key(event, each)}
          onClick=${(event) => (drag.current?.moved ? (drag.current = null) : click(each, event.shiftKey))}>
        <span class="ghost" style=${{ width: `${100 * (ghost?.[i] ?? 0)}%` }}></span>
        <span class="share" style=${{ width: `${100 * p}%` }}></span>
        ${likely != null && html`<span class="likelihood" style=${{ left: `${100 * likely}%` }}></span>`}
        <span class="label"><bdi>${each}</bdi></span>${" "}<span class="figure">${percent(p)}</span>
      </button>`;
    })}</div>
  </section>`;
}

// What a set of states says, in as few words as it takes.
function excluded(states, kept) {
  const out = states.filter((each) => !kept.includes(each));
  return out.length < kept.length || out.length === 1 ? `≠ ${out.join(", ")}` : `in {${kept.join(", ")}}`;
}

export function Found({ given, done = {}, byName, find, change, log, density = false }) {
  const all = [...Object.entries(done).map((each) => [...each, "do"]), ...Object.entries(given).map((each) => [...each, "given"])];
  if (!all.length) return null;
  const said = (name, value) =>
    byName[name]?.number ? intervalText(value) : Array.isArray(value) ? excluded(byName[name].states, value) : typeof value === "object" ? Object.entries(value).map(([k, v]) => `${k}: ${v}`).join(", ") : `= ${value}`;
  return html`<section><h2>Findings</h2><ul class="findings">${all.map(([name, value, how]) => html`<li key=${name}>
      ${how === "do" ? "do " : ""}<bdi>${name}</bdi> <bdi>${said(name, value)}</bdi>
      <button class="only-live" aria-label=${`Remove ${name}`} onClick=${() => (how === "do" ? change({ do: without(done, name) }) : find(name, undefined))}>×</button></li>`)}</ul>
    ${Number.isFinite(log) && log !== 0 && html`<p class="faint">${density ? "p" : "P"}(findings) = ${Math.exp(log).toPrecision(3)}</p>`}</section>`;
}

const without = (all, name) => Object.fromEntries(Object.entries(all).filter(([other]) => other !== name));
