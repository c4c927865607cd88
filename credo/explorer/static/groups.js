// Groups: a forest plot of any number of beliefs. Only the rows in view exist; the server sorts and searches.
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { Copy, Problem, percent, useAnswer } from "./parts.js";
import { Lines, filled } from "./charts.js";

const LINE = 26, AHEAD = 60, TALLEST = 8_000_000; // pixels: browsers draw nothing further down

export function Screen({ model, state, change, ask }) {
  const view = { prior: state.prior ?? "given", quantity: state.quantity ?? model.quantities[0], sort: state.sort ?? "estimate", down: state.down ?? true, search: state.search ?? "" };
  const key = JSON.stringify(view);
  const [first, setFirst] = useState(0);
  const [learned, setLearned] = useState(0); // tables that were dropped here: what is shown changes with each
  const [rows, problem] = useAnswer((signal) => ask("window", { ...view, from: Math.max(0, first - AHEAD), count: 200 }, signal), [key, learned, Math.floor(first / 30)]);
  const pair = state.pair ?? [];
  const [best] = useAnswer((signal) => (state.best ? ask("best", view, signal) : null), [key, learned, state.best]);
  const [against, unlike] = useAnswer((signal) => (pair.length === 2 ? ask("compare", { a: pair[0], b: pair[1] }, signal) : null), [learned, JSON.stringify(pair)]);
  const pick = (group) => change({ pair: pair.includes(group) ? pair.filter((each) => each !== group) : [...pair, group].slice(-2) });
  const sort = (by) => change({ sort: by, down: view.sort === by ? !view.down : by !== "group" });
  return html`<div class="groups">
    <div class="board"><div class="tools">
        <label>Find <input value=${view.search} onInput=${(event) => change({ search: event.target.value || null }, { passing: true })} placeholder=${model.by} /></label>
        <label>Prior <select value=${view.prior} onChange=${(event) => change({ prior: event.target.value })}>${model.priors.map((each) => html`<option key=${each} value=${each}>${each === "given" ? `as estimated (${model.prior})` : each === "raw" ? "none: raw" : each}</option>`)}</select></label>
        ${model.quantities.length > 1 && html`<label>Estimate <select value=${view.quantity} onChange=${(event) => change({ quantity: event.target.value })}>${model.quantities.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>`}
        <label><input type="checkbox" checked=${Boolean(state.best)} onChange=${(event) => change({ best: event.target.checked || null })} /> P(best)</label>
        <span class="faint" role="status">${rows ? `${rows.total.toLocaleString("en")} of ${model.groups.toLocaleString("en")} groups` : ""}</span></div>
      ${problem && html`<${Problem} text=${problem} />`}
      <div class="forest-table" role="table" aria-label="Groups" aria-rowcount=${rows?.total ?? 0}>
        <div class="forest-head" role="row">${[["group", model.by], ["rows", "rows"], ["estimate", view.quantity], ["low", "95% interval"]].map(([by, title]) => html`<span role="columnheader" key=${by} aria-sort=${view.sort !== by ? "none" : view.down ? "descending" : "ascending"}><button onClick=${() => sort(by)}>${title}${view.sort === by ? (view.down ? " ↓" : " ↑") : ""}</button></span>`)}</div>
        ${rows && html`<${Forest} rows=${rows} first=${first} setFirst=${setFirst} pair=${pair} pick=${pick} />`}</div></div>
    <aside aria-label="Comparison">
      ${unlike && html`<${Problem} text=${unlike} />`}
      ${against && pair.length === 2
        ? html`<section><h2>Comparison</h2><p>P(<bdi>${pair[0]}</bdi> > <bdi>${pair[1]}</bdi>) = <b>${percent(against.greater)}</b></p>
          <${Both} charts=${against.charts} names=${pair} /><${Copy} lines=${against.copy} /></section>`
        : html`<p class="faint">Click two groups to compare them.</p>`}
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

function Forest({ rows, first, setFirst, pair, pick }) {
  const box = useRef(null);
  const full = rows.total * LINE, tall = Math.min(full, TALLEST), stretch = full > tall ? full / tall : 1;
  useEffect(() => {
    const scroll = () => setFirst(Math.floor((box.current.scrollTop * stretch) / LINE));
    box.current.addEventListener("scroll", scroll, { passive: true });
    return () => box.current?.removeEventListener("scroll", scroll);
  }, [stretch]);
  const [low, high] = rows.range, span = high - low || 1, at = (x) => `${(100 * (x - low)) / span}%`;
  const seen = 4 + Math.ceil((box.current?.clientHeight ?? 1200) / LINE); // rows in view exist, and no others
  const top = (i) => (i - first) * LINE + (first * LINE) / stretch;
  return html`<div class="forest" ref=${box} tabindex="0" role="rowgroup"><div role="presentation" style=${{ height: `${tall}px` }}>
    ${rows.rows.map((row, j) => {
      const i = rows.from + j, chosen = pair.includes(row.group);
      return i >= first - 4 && i < first + seen && html`<div key=${row.group} class=${`forest-row ${chosen ? "chosen" : ""}`} role="row" aria-rowindex=${i + 1} style=${{ transform: `translateY(${top(i)}px)` }}>
        <span role="cell"><button aria-pressed=${chosen} onClick=${() => pick(row.group)}><bdi>${row.group}</bdi></button></span><span role="cell">${row.rows.toLocaleString("en")}</span><span role="cell">${Number(row.estimate).toPrecision(3)}</span>
        <span role="cell" class="interval"><span class="unseen">${Number(row.low).toPrecision(3)} to ${Number(row.high).toPrecision(3)}</span><i style=${{ left: at(row.low), width: `${Math.max(0.3, (100 * (row.high - row.low)) / span)}%` }}></i><b style=${{ left: at(row.estimate) }}></b></span></div>`;
    })}</div></div>`;
}

function Both({ charts, names }) {
  const curves = charts.map((chart) => chart.curves?.find((each) => each.role === "posterior")).filter(Boolean);
  if (curves.length < 2) return null;
  const low = Math.min(...curves.map((each) => each.x[0])), high = Math.max(...curves.map((each) => each.x[each.x.length - 1]));
  const x = Array.from({ length: 200 }, (_, i) => low + ((high - low) * i) / 199);
  const on = (curve) => x.map((each) => {
    const i = curve.x.findIndex((other) => other >= each);
    return i < 0 ? 0 : curve.y[i];
  });
  return html`<${Lines} x=${x} ys=${curves.map(on)} names=${names} labels=${true} />`;
}
