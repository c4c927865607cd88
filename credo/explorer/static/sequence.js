// A sequence: its decoded states, how probable each state is, and what comes next.
import { html, useState } from "./vendor/preact-htm.js";
import { Content, Copy, Problem, percent, short, useAnswer } from "./parts.js";
import { Legend, colour, ticks } from "./charts.js";

const DRAWN = 600; // rows of a sequence

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
      ${found?.series.map((each) => html`<${Series} key=${each.name} series=${each} width=${Math.min(found.path.length, DRAWN) + (found.forecast?.length ?? 0)} />`)}
      ${found && html`<section><h2>States</h2><${Strip} found=${found} states=${model.states} /><p class="faint">Above: the most probable path. Below: P(state) of each row; beyond the line, forecasts.</p>${found.no_forecast && html`<p class="faint">No forecast: ${found.no_forecast}</p>`}</section>`}
    </div><aside aria-label="The model"><h2>P(next state | state)</h2><div class="scroll"><table><thead><tr><th scope="col">state</th>${model.states.map((name) => html`<th scope="col" key=${name}><bdi>${name}</bdi></th>`)}</tr></thead>
      <tbody>${model.states.map((name, i) => html`<tr key=${name}><th scope="row"><span class="key" style=${{ background: colour(i) }}></span><bdi>${name}</bdi></th>${model.transitions[i].map((p, j) => html`<td key=${j}>${percent(p)}</td>`)}</tr>`)}</tbody></table></div>
      ${model.seen && html`<h2>Emissions in each state</h2><${Content} table=${model.seen} />`}
      <${Copy} lines=${found?.copy} /></aside></div>`;
}

// A column's numbers over the same steps as the states, and beyond the last row their means and 95% intervals.
function Series({ series, width }) {
  const { values, mean, low, high } = series, all = [...values, ...low, ...high].filter(Number.isFinite);
  if (!all.length) return null;
  const least = Math.min(...all), most = Math.max(...all), at = (t, x) => `${t + 0.5} ${(95 - (90 * (x - least)) / (most - least || 1)).toFixed(2)}`, n = values.length;
  const line = values.map((x, t) => (Number.isFinite(x) ? `${t && Number.isFinite(values[t - 1]) ? "L" : "M"}${at(t, x)}` : "")).join("");
  const band = [...high.map((x, k) => at(n + k, x)), ...low.map((x, k) => at(n + k, x)).reverse()].join("L");
  return html`<section><h2><bdi>${series.name}</bdi></h2><svg class="lines series" viewBox=${`0 0 ${width} 100`} preserveAspectRatio="none" role="img" aria-label=${`${series.name} over time, from ${short(least)} to ${short(most)}`}>
      ${band && html`<path d=${`M${band}Z`} class="band" /><path d=${`M${mean.map((x, k) => at(n + k, x)).join("L")}`} class="ahead" vector-effect="non-scaling-stroke" />`}
      <path d=${line} class="seen" vector-effect="non-scaling-stroke" /><line x1=${n} x2=${n} y1="0" y2="100" class="now" vector-effect="non-scaling-stroke" /></svg>
    <p class="faint">${short(least)} to ${short(most)}${band ? "; beyond the line, the mean and the 95% interval of each step" : ""}</p></section>`;
}

// Over time: which states (path), how probable each is, and forecasts beyond the line. Numbers below count from 0.
export function Strip({ found, states }) {
  const shown = Math.min(found.path.length, DRAWN), ahead = found.forecast ?? [], width = shown + ahead.length || 1, above = found.path.some((k) => k >= 0) ? 20 : 0;
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
