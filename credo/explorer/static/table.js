// A table: how each column is read, its first rows, and how to learn from it.
import { html } from "./vendor/preact-htm.js";
import { Copy, percent, useAnswer } from "./parts.js";

export function Screen({ model, state, change, ask }) {
  const column = state.column ?? null;
  const [lines] = useAnswer((signal) => (column ? ask("lines", { column }, signal) : null), [column]);
  const [names, kinds, missing, values] = model.columns.map((each) => each.cells);
  return html`<div class="trust"><p class="faint">${model.rows.toLocaleString("en")} rows, ${names.length} columns. Choose a column to see how to predict or estimate it.</p>
    <div class="scroll"><table class="words"><thead><tr><th scope="col">column</th><th scope="col">kind</th><th scope="col">missing</th><th scope="col" class="left">values</th></tr></thead>
      <tbody>${names.map((name, i) => html`<tr key=${name}><td><button aria-pressed=${column === name} onClick=${() => change({ column: column === name ? null : name })}><bdi>${name}</bdi></button></td><td>${kinds[i]}</td><td>${percent(missing[i])}</td><td class="left">${values[i]}</td></tr>`)}</tbody></table></div>
    ${lines && html`<section><h2>To predict <bdi>${column}</bdi> from the others</h2><${Copy} lines=${lines.learn} /><h2>To estimate it</h2><${Copy} lines=${lines.estimate} /></section>`}
    <h2>First rows</h2><div class="scroll" tabindex="0"><table><thead><tr>${names.map((name, j) => html`<th scope="col" key=${name} class=${kinds[j] === "number" || kinds[j] === "count" ? "" : "left"}><bdi>${name}</bdi></th>`)}</tr></thead>
      <tbody>${Array.from({ length: Math.max(0, ...Object.values(model.head).map((each) => each.length)) }, (_, i) => html`<tr key=${i}>${names.map((name, j) => html`<td key=${name} class=${kinds[j] === "number" || kinds[j] === "count" ? "" : "left"}><bdi>${model.head[name]?.[i]}</bdi></td>`)}</tr>`)}</tbody></table></div></div>`;
}
