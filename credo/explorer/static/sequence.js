// A sequence: its decoded states, how probable each state is, and what comes next.
import { html, useState } from "./vendor/preact-htm.js";
import { Content, Copy, Problem, percent, useAnswer } from "./parts.js";
import { Legend, colour, ticks } from "./charts.js";

export function Screen({ model, state, change, ask }) {
  const [text, setText] = useState(state.rows ? state.rows.map((row) => model.columns.map((name) => row[name] ?? "").join(", ")).join("\n") : "");
  const rows = state.rows ?? null;
  const [found, problem] = useAnswer((signal) => (rows || model.has_rows ? ask("decode", { rows }, signal) : null), [JSON.stringify(rows)]);
  const decode = () => {
    const lines = text.split("\n").filter((line) => line.trim());
    const cell = (value) => (value === undefined || value.trim() === "" ? null : Number.isFinite(Number(value)) ? Number(value) : value.trim());
    change({ rows: lines.length ? lines.map((line) => Object.fromEntries(model.columns.map((name, j) => [name, cell(line.split(",")[j])]))) : null });
  };
  return html`<div class="row-screen"><div class="controls">
      <section><h2><label for="rows">Rows</label></h2><p class="faint">One per line: ${model.columns.join(", ")}. An empty cell is missing.${model.has_rows ? " Without any, the rows that were given are decoded." : ""}</p>
        <textarea id="rows" rows="5" value=${text} onInput=${(event) => setText(event.target.value)}></textarea><button onClick=${decode}>Decode</button></section>
      ${problem && html`<${Problem} text=${problem} />`}
      ${found && html`<section><h2>States</h2><${Strip} found=${found} states=${model.states} /><p class="faint">Above: the most probable path. Below: P(state) of each row; beyond the line, forecasts.</p>${found.no_forecast && html`<p class="faint">No forecast: ${found.no_forecast}</p>`}</section>`}
    </div><aside aria-label="The model"><h2>P(next state | state)</h2><div class="scroll"><table><thead><tr><th scope="col">state</th>${model.states.map((name) => html`<th scope="col" key=${name}><bdi>${name}</bdi></th>`)}</tr></thead>
      <tbody>${model.states.map((name, i) => html`<tr key=${name}><th scope="row"><span class="key" style=${{ background: colour(i) }}></span><bdi>${name}</bdi></th>${model.transitions[i].map((p, j) => html`<td key=${j}>${percent(p)}</td>`)}</tr>`)}</tbody></table></div>
      ${model.seen && html`<h2>Emissions in each state</h2><${Content} table=${model.seen} />`}
      <${Copy} lines=${found?.copy} /></aside></div>`;
}

// Over time: which states (path), how probable each is, and forecasts beyond the line. Numbers below count from 0.
export function Strip({ found, states }) {
  const shown = Math.min(found.path.length, 600), ahead = found.forecast ?? [], width = shown + ahead.length || 1, above = found.path.some((k) => k >= 0) ? 20 : 0;
  const columns = [...Array.from({ length: shown }, (_, t) => found.smooth.map((own) => own[t])), ...ahead];
  return html`<svg class="lines strip" viewBox=${`0 0 ${width} 100`} preserveAspectRatio="none" shape-rendering="crispEdges" role="img" aria-label=${`States, one after another: ${found.path.slice(0, 60).map((k) => states[k] ?? "unknown").join(", ")}`}>
    ${found.path.slice(0, shown).map((k, t) => k >= 0 && html`<rect key=${t} x=${t} y="0" width="1" height="14" fill=${colour(k)} />`)}
    ${columns.map((shares, t) => {
      let top = above;
      return shares.map((p, k) => {
        const y = top;
        top += (100 - above) * p;
        return html`<rect x=${t} y=${y} width="1" height=${(100 - above) * p} fill=${colour(k)} fill-opacity=${t < shown ? 0.85 : 0.5} />`;
      });
    })}
    <line x1=${shown} x2=${shown} y1="0" y2="100" class="now" vector-effect="non-scaling-stroke" /></svg>
    <p class="strip-axis faint" aria-hidden="true">${ticks(0, width - 1, 10).filter(Number.isInteger).map((t) => html`<span key=${t} style=${{ left: `${(100 * (t + 0.5)) / width}%` }}>${t}</span>`)}</p>
    <${Legend} names=${states} />
    ${found.path.length > shown && html`<p class="faint">the first ${shown} of ${found.total.toLocaleString("en")} rows</p>`}`;
}
