// Groups: a forest plot of any number of beliefs. Only the rows in view exist; the server sorts and searches.
import { html, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact-htm.js";
import { Copy, Problem, percent, useAnswer } from "./parts.js";
import { Legend, Lines, filled, interpolated, ticks } from "./charts.js";

const LINE = 26, AHEAD = 60, TALLEST = 8_000_000; // pixels: browsers draw nothing further down
const STEP = 30; // rows: windows begin at multiples of it
const BASE = 2000; // rows: places are counted from multiples of it, as those far down would be rounded
const short = (x) => String(Number(x.toPrecision(3))).replace("-", "−");
const whole = new Intl.NumberFormat("en");

export function Screen({ model, state, change, ask }) {
  const view = { prior: state.prior ?? "given", quantity: state.quantity ?? model.quantities[0], sort: state.sort ?? "estimate", down: state.down ?? true, search: state.search ?? "" };
  const key = JSON.stringify(view);
  const [first, setFirst] = useState(0); // of the rows in view, by steps
  const [learned, setLearned] = useState(0); // tables that were dropped here: what is shown changes with each
  const [rows, problem] = useAnswer((signal) => ask("window", { ...view, from: Math.max(0, first - AHEAD), count: 200 }, signal), [key, learned, first]);
  const pair = state.pair ?? [];
  const [best] = useAnswer((signal) => (state.best ? ask("best", view, signal) : null), [key, learned, state.best]);
  const [against, unlike] = useAnswer((signal) => (pair.length === 2 ? ask("compare", { a: pair[0], b: pair[1], prior: view.prior, quantity: view.quantity }, signal) : null), [learned, view.prior, view.quantity, JSON.stringify(pair)]);
  const pick = (group) => change({ pair: pair.includes(group) ? pair.filter((each) => each !== group) : [...pair, group].slice(-2) });
  const brush = (a, b) => a !== b && change({ pair: [a, b] });
  const sort = (by) => change({ sort: by, down: view.sort === by ? !view.down : by !== "group" });
  return html`<div class="groups">
    <div class="board"><div class="tools">
        <label>Find <input value=${view.search} onInput=${(event) => change({ search: event.target.value || null }, { passing: true })} placeholder=${model.by} /></label>
        <label>Prior <select value=${view.prior} onChange=${(event) => change({ prior: event.target.value })}>${model.priors.map((each) => html`<option key=${each} value=${each}>${each === "given" ? `as estimated${model.prior === "given" ? "" : ` (${model.prior})`}` : each === "raw" ? "none: raw" : each}</option>`)}</select></label>
        ${model.quantities.length > 1 && html`<label>Estimate <select value=${view.quantity} onChange=${(event) => change({ quantity: event.target.value })}>${model.quantities.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>`}
        <label><input type="checkbox" checked=${Boolean(state.best)} onChange=${(event) => change({ best: event.target.checked || null })} /> P(best)</label>
        <span class="faint" role="status">${rows ? `${rows.total.toLocaleString("en")} of ${model.groups.toLocaleString("en")} groups` : ""}</span></div>
      ${problem && html`<${Problem} text=${problem} />`}
      <div class="forest-table" role="table" aria-label="Groups" aria-rowcount=${rows?.total ?? 0}>
        <div class="forest-head" role="row">${[["group", model.by], ["rows", "rows"], ["estimate", view.quantity], ["low", "95% interval"]].map(([by, title]) => html`<span role="columnheader" key=${by} aria-sort=${view.sort !== by ? "none" : view.down ? "descending" : "ascending"}><button onClick=${() => sort(by)}>${title}${view.sort === by ? (view.down ? " ↓" : " ↑") : ""}</button></span>`)}</div>
        ${rows && html`<${Scale} range=${rows.range} />`}
        ${rows && html`<${Forest} key=${key} rows=${rows} setFirst=${setFirst} pair=${pair} pick=${pick} brush=${brush} />`}</div></div>
    <aside aria-label="Comparison">
      ${unlike && html`<${Problem} text=${unlike} />`}
      ${against && pair.length === 2
        ? html`<section><h2>Comparison</h2><p>P(<bdi>${pair[0]}</bdi> > <bdi>${pair[1]}</bdi>) = <b>${percent(against.greater)}</b></p>
          <p>Difference: <b>${short(against.difference)}</b>, 95% interval ${short(against.interval[0])} to ${short(against.interval[1])}</p>
          <${Both} charts=${against.charts} names=${pair} /><${Copy} lines=${against.copy} /></section>`
        : html`<p class="faint">Click two groups to compare them, or drag from one to the other. Keys: ↑ ↓ move, Enter chooses, Shift with ↑ ↓ compares where you began with where you are.</p>`}
      ${best && html`<section><h2>P(best)</h2><ul class="bars">${best.best.filter((each) => each.probability > 0).map((each) => html`<li key=${each.group}><div><span class="share" style=${filled(each.probability)}></span><span class="label"><bdi>${each.group}</bdi></span><span>${percent(each.probability)}</span></div></li>`)}</ul></section>`}
      <${Drop} model=${model} ask=${ask} learned=${() => setLearned((n) => n + 1)} />
      <${Copy} lines=${rows?.copy} />
    </aside>
  </div>`;
}

// A table of rows to learn or to forget: dropped here, or chosen.
function Drop({ model, ask, learned }) {
  const [file, setFile] = useState(null);
  const [said, setSaid] = useState("");
  const [over, setOver] = useState(false);
  const take = (found) => found && (setFile(found), setSaid(""));
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files[0]);
  };
  const send = async (how) => {
    try {
      const found = await ask("learn", { how, csv: await file.text() });
      setSaid(`${found.changed.toLocaleString("en")} rows ${how === "update" ? "learned" : "forgotten"}; now ${found.rows.toLocaleString("en")} rows in ${found.groups.toLocaleString("en")} groups${model.file ? ", saved" : ""}`);
      setFile(null);
      learned();
    } catch (error) {
      setSaid(error.message);
    }
  };
  return html`<section class=${`drop only-live ${over ? "over" : ""}`} onDragOver=${(event) => (event.preventDefault(), setOver(true))} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <h2>More rows</h2><label>Drop a CSV file here, or choose one <input type="file" accept=".csv,text/csv" onChange=${(event) => take(event.target.files[0])} /></label>
    ${file && html`<p><bdi>${file.name}</bdi>: <button onClick=${() => send("update")}>learn its rows</button> <button onClick=${() => send("forget")}>forget its rows</button></p>`}
    <p role="status" class="faint">${said}</p></section>`;
}

// The rows lie on a sheet that stays in view; scrolling moves it, and draws only rows that come into view.
function Forest({ rows, setFirst, pair, pick, brush }) {
  const box = useRef(null), brushed = useRef(null), moved = useRef(false), kept = useRef(new Map());
  const [scrolled, setScrolled] = useState(0), [cursor, setCursor] = useState(null), [held, setHeld] = useState(null);
  const full = rows.total * LINE, tall = Math.min(full, TALLEST), stretch = full > tall ? full / tall : 1;
  const high = box.current?.clientHeight ?? 1200, first = Math.floor(scrolled / LINE), base = Math.floor(first / BASE) * BASE;
  useLayoutEffect(() => {
    const scroll = () => {
      // Where the bar is stretched its end must be the last row's.
      const { scrollTop, clientHeight } = box.current, reach = Math.max(1, tall - clientHeight);
      const now = stretch > 1 ? (scrollTop / reach) * (full - clientHeight) : scrollTop;
      setScrolled(now);
      setFirst(Math.floor(now / LINE / STEP) * STEP);
    };
    box.current.addEventListener("scroll", scroll, { passive: true });
    return () => box.current?.removeEventListener("scroll", scroll);
  }, [stretch, tall]);
  const show = (row) => {
    const top = row * LINE, to = top < scrolled ? top : top + LINE > scrolled + high ? top + LINE - high : scrolled;
    if (to !== scrolled) box.current.scrollTop = stretch > 1 ? (to / (full - high)) * (tall - high) : to;
  };
  const at = (i) => rows.rows[i - rows.from]?.group;
  const keys = (event) => {
    const page = Math.max(1, Math.floor(high / LINE) - 1), now = cursor ?? first;
    const to = { ArrowDown: cursor === null ? now : now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: rows.total - 1 }[event.key];
    if (to !== undefined) {
      const next = Math.max(0, Math.min(rows.total - 1, to));
      if (!event.shiftKey) setHeld(null);
      else if (event.key.startsWith("Arrow")) {
        const began = held ?? at(now);
        setHeld(began);
        if (began !== undefined && at(next) !== undefined) brush(began, at(next));
      }
      setCursor(next);
      show(next);
      moved.current = true;
      event.preventDefault();
    }
  };
  useLayoutEffect(() => {
    const button = moved.current && document.querySelector(`#row-${cursor} button`);
    if (!button) return; // a row far away comes with an answer
    moved.current = false;
    button.focus({ preventScroll: true });
  });
  const groupAt = (event) => event.target.closest?.(".forest-row")?.dataset.group;
  const down = (event) => (brushed.current = groupAt(event));
  const click = (event) => event.target.closest("button") && pick(groupAt(event));
  const up = (event) => {
    const to = groupAt(event), from = brushed.current;
    brushed.current = null;
    if (from !== undefined && from !== null && to !== undefined && to !== from) brush(from, to);
  };
  // A row that is drawn already is the same object again: nothing of it is compared.
  useMemo(() => kept.current.clear(), [rows.range.join(), pair.join("\u0000"), cursor, base]);
  const drawn = [], last = first + Math.ceil(high / LINE) + 2;
  for (let i = Math.max(rows.from, first - 2); i < Math.min(last, rows.from + rows.rows.length); i++) {
    const row = rows.rows[i - rows.from];
    let found = kept.current.get(i);
    if (found?.row.group !== row.group || found.row.rows !== row.rows) {
      found = { row, drawn: drawnRow(row, i, base, rows.range, pair.includes(row.group), i === cursor) };
      kept.current.set(i, found);
    }
    drawn.push(found.drawn);
  }
  if (kept.current.size > 1000) kept.current.clear();
  return html`<div class="forest" ref=${box} tabindex="0" role="rowgroup" onKeyDown=${keys} onPointerDown=${down} onPointerUp=${up} onClick=${click}>
    <div role="presentation" style=${{ height: `${tall}px` }}><div class="in-view" role="presentation" style=${{ height: `${Math.min(high, full)}px` }}>
      <div role="presentation" style=${{ transform: `translateY(${base * LINE - scrolled}px)` }}>${drawn}</div></div></div></div>`;
}

// Numbers above the intervals, on their scale.
function Scale({ range: [low, high] }) {
  const at = (x) => `${(100 * (x - low)) / (high - low || 1)}%`;
  return html`<div class="forest-scale" aria-hidden="true"><span></span><span></span><span></span><span class="interval">${ticks(low, high, 5).map((x) => html`<u key=${x} style=${{ left: at(x) }}>${x}</u>`)}</span></div>`;
}

function drawnRow(row, i, base, [low, high], chosen, current) {
  const span = high - low || 1, at = (x) => `${(100 * (x - low)) / span}%`;
  return html`<div key=${row.group} id=${`row-${i}`} data-group=${row.group} class=${`forest-row ${chosen ? "chosen" : ""}`} role="row" aria-rowindex=${i + 1} style=${{ top: `${(i - base) * LINE}px` }}>
    <span role="cell"><button tabindex=${current ? 0 : -1} aria-pressed=${chosen}><bdi>${row.group}</bdi></button></span><span role="cell">${whole.format(row.rows)}</span><span role="cell">${Number(row.estimate).toPrecision(3)}</span>
    <span role="cell" class="interval"><span class="unseen">${Number(row.low).toPrecision(3)} to ${Number(row.high).toPrecision(3)}</span><i style=${{ left: at(row.low), width: `${Math.max(0.3, (100 * (row.high - row.low)) / span)}%` }}></i><b style=${{ left: at(row.estimate) }}></b></span></div>`;
}

function Both({ charts, names }) {
  const curves = charts.map((chart) => chart.curves?.find((each) => each.role === "posterior")).filter(Boolean);
  if (curves.length < 2) return null;
  const low = Math.min(...curves.map((each) => each.x[0])), high = Math.max(...curves.map((each) => each.x[each.x.length - 1]));
  const x = Array.from({ length: 200 }, (_, i) => low + ((high - low) * i) / 199);
  return html`<${Lines} x=${x} ys=${curves.map((curve) => x.map((each) => interpolated(curve, each)))} names=${names} /><${Legend} names=${names} />`;
}
