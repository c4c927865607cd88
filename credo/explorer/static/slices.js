// A dynamic network: findings of each slice, what is believed over time, and forecasts.
import { html } from "./vendor/preact-htm.js";
import { Copy, Problem, percent, useAnswer } from "./parts.js";
import { Strip } from "./sequence.js";
import { Typed } from "./typed.js";

const NEW = [{}, {}, {}, {}, {}], EDITED = 60; // slices of a new page; slices whose findings are controls

export function Screen({ model, state, change, ask }) {
  const rows = state.rows ?? (model.has_rows ? null : NEW), shown = rows ?? model.rows, how = state.how ?? "smoothed";
  const steps = state.steps ?? 12;
  const [found, problem] = useAnswer((signal) => ask("beliefs", { rows, steps }, signal), [JSON.stringify(rows), steps]);
  const set = (t, name, value) => {
    const row = { ...shown[t], [name]: value };
    if (!value) delete row[name];
    change({ rows: shown.map((each, i) => (i === t ? row : each)) });
  };
  return html`<div class="row-screen"><div class="controls">
      <div class="tools"><fieldset class="switch"><legend class="unseen">Beliefs</legend>${[["smoothed", "given all slices"], ["filtered", "given slices so far"]].map(([each, title]) =>
        html`<label key=${each}><input type="radio" name="how" checked=${how === each} onChange=${() => change({ how: each === "smoothed" ? null : each })} /> ${each}: ${title}</label>`)}</fieldset>
        <label>forecast <${Typed} type="number" min="1" max="200" value=${steps} settle=${(text) => change({ steps: Math.max(1, Math.min(200, Number(text) || 12)) })} /> slices</label></div>
      <section><h2>Findings</h2><${Findings} model=${model} rows=${shown} set=${set} change=${change} edited=${rows !== null} /></section>
      ${problem && html`<${Problem} text=${problem} />`}
      <p class="faint">Above: the evidence. Below: P(state) in each slice; beyond the line, forecasts.</p>
      ${found && model.variables.map((variable) => html`<${Over} key=${variable.name} variable=${variable} found=${found} how=${how} rows=${shown} />`)}
      ${found?.no_forecast && html`<p class="faint">No forecast: ${found.no_forecast}</p>`}
    </div><aside aria-label="The model"><h2>Arrows</h2><pre tabindex="0">${model.arrows}</pre>${model.tables.map((text, i) => html`<pre key=${i} tabindex="0">${text}</pre>`)}
      ${found && html`<p class="faint">P(findings) = ${Math.exp(found.log_probability).toPrecision(3)}, over ${found.slices.toLocaleString("en")} slices</p>`}<${Copy} lines=${found?.copy} /></aside></div>`;
}

// One variable over time: what was observed, and P(state) of each slice.
function Over({ variable, found, how, rows }) {
  const shares = found[how][variable.name], ahead = found.forecast?.[variable.name] ?? [];
  const path = shares[0].map((_, t) => variable.states.indexOf(rows[t]?.[variable.name]));
  const last = (ahead.length ? ahead.at(-1) : shares.map((own) => own.at(-1))).map((p, k) => `${variable.states[k]} ${percent(p)}`).join(", ");
  return html`<section><h2><bdi>${variable.name}</bdi></h2>
    <${Strip} found=${{ path, smooth: shares, forecast: ahead, total: found.slices }} states=${variable.states} />
    <p class="faint">${ahead.length ? `${ahead.length} slices ahead` : "In the last slice"}: <bdi>${last}</bdi></p></section>`;
}

// A control for each cell; empty ones are missing.
function Findings({ model, rows, set, change, edited }) {
  const shown = rows.slice(0, EDITED);
  return html`<p class="faint">An empty cell is missing; it is marginalised.${model.has_rows && !edited ? " These are the rows that were given; a change makes them your own." : ""}</p>
    <div class="scroll"><table class="slices"><thead><tr><th scope="col">slice</th>${shown.map((_, t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
      <tbody>${model.variables.map((variable) => html`<tr key=${variable.name}><th scope="row"><bdi>${variable.name}</bdi></th>${shown.map((row, t) => html`<td key=${t}>
        <select aria-label=${`${variable.name} in slice ${t}`} value=${row[variable.name] ?? ""} onChange=${(event) => set(t, variable.name, event.target.value)}>
          <option value=""></option>${variable.states.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></td>`)}</tr>`)}</tbody></table></div>
    ${rows.length > EDITED && html`<p class="faint">${(rows.length - EDITED).toLocaleString("en")} more slices</p>`}
    <p class="only-live"><button onClick=${() => change({ rows: [...rows, {}] })}>Add a slice</button> <button disabled=${rows.length < 2} onClick=${() => change({ rows: rows.slice(0, -1) })}>Remove the last</button>${" "}<button onClick=${() => change({ rows: null })}>${model.has_rows ? "Back to the rows given" : "Clear"}</button></p>`;
}
