// A regression: a control for each column, the predictive distribution of the target, and what each column adds.
import { html } from "./vendor/preact-htm.js";
import { Cell, Copy, Diverging, Problem, short, useAnswer } from "./parts.js";
import { Lines, ticks } from "./charts.js";

export function Screen({ model, state, change, ask }) {
  const row = state.row ?? {}, key = JSON.stringify(row);
  const [answer, problem] = useAnswer((signal) => ask("predict", { row }, signal), [key]);
  const set = (name, value, passing) => {
    const after = { ...row, [name]: value };
    if (value === "" || value == null) delete after[name];
    change({ row: after }, { passing });
  };
  return html`<div class="row-screen">
    <div class="controls">
      <section><h2>Cells</h2><p class="faint">An empty cell is missing.</p>
        <div class="cells">${model.columns.map((column) => html`<${Cell} key=${column.name} column=${column} value=${row[column.name]} set=${set}
          chosen=${state.column === column.name} choose=${() => change({ column: state.column === column.name ? null : column.name })} />`)}</div></section>
      ${model.held_out && html`<section><h2>Held-out rows</h2><${Points} points=${model.held_out.points} target=${model.target} /><p class="faint">${model.held_out.said}</p></section>`}
      <section><h2>Weights</h2><div class="scroll"><table><thead><tr><th scope="col">term</th><th scope="col">weight</th><th scope="col">95% interval</th></tr></thead>
        <tbody>${model.terms.map((each) => html`<tr key=${each.term}><th scope="row"><bdi>${each.term}</bdi></th><td>${short(each.weight)}</td><td>${short(each.low)} to ${short(each.high)}</td></tr>`)}</tbody></table></div>
        ${model.more > 0 && html`<p class="faint">${model.more} more terms</p>`}</section>
    </div>
    <aside aria-label="Prediction">
      ${problem && html`<${Problem} text=${problem} />`}
      ${answer && html`<section><h2><bdi>${model.target}</bdi></h2><p class="figure-line"><b>${short(answer.prediction)}</b> <span class="faint">95%: ${short(answer.interval[0])} to ${short(answer.interval[1])}</span></p>
        <${Lines} x=${answer.density.x} ys=${[answer.density.y]} names=${[model.target]} at=${answer.prediction} /></section>
        <section><h2>Why</h2><${Adds} answer=${answer} /></section>`}
      ${state.column && html`<${Curve} row=${row} column=${state.column} now=${row[state.column]} ask=${ask} depends=${key} target=${model.target} />`}
      <${Copy} lines=${answer?.copy} />
    </aside>
  </div>`;
}

function Adds({ answer }) {
  const rows = [{ name: "average row", value: answer.average, adds: 0 }, ...answer.adds.filter((each) => each.adds).map((each) => ({ name: each.columns.map((name, i) => `${name} = ${each.cells[i]}`).join(" × "), value: each.adds, adds: each.adds }))];
  return html`<${Diverging} rows=${rows.map((each) => ({ name: each.name, figure: `${each.value < 0 ? "−" : "+"}${short(Math.abs(each.value))}`, size: each.adds }))} head=${["column", "adds"]} foot=${["prediction", short(answer.prediction)]} />`;
}

function Curve({ row, column, now, ask, depends, target }) {
  const [curve, problem] = useAnswer((signal) => ask("curve", { row, column }, signal), [depends, column]);
  if (problem) return html`<${Problem} text=${problem} />`;
  if (!curve || curve.column !== column) return null;
  const faint = { colour: "var(--faint)", dashes: "4 3" };
  return html`<section><h2>What if <bdi>${column}</bdi> were …</h2>${curve.values.every((each) => typeof each === "number")
    ? html`<${Lines} x=${curve.values} ys=${[curve.mean, curve.low, curve.high]} names=${[target, "2.5%", "97.5%"]} at=${now} upright=${String} signed=${true} styles=${[{}, faint, faint]} />`
    : html`<div class="scroll"><table>${curve.values.map((value, i) => html`<tr key=${i}><th scope="row"><bdi>${String(value)}</bdi></th><td>${short(curve.mean[i])}</td><td class="faint">${short(curve.low[i])} to ${short(curve.high[i])}</td></tr>`)}</table></div>`}</section>`;
}

// Predictions across, truth upwards: on the line they agree.
function Points({ points, target }) {
  const size = 280, pad = 54, edge = 8, all = points.flat().filter(Number.isFinite);
  const low = Math.min(...all), span = Math.max(...all) - low || 1, at = (x) => pad + ((x - low) / span) * (size - pad - edge);
  return html`<svg class="lines reliability" viewBox=${`0 0 ${size} ${size}`} role="img" aria-label=${`${target}: predictions of held-out rows, and the truth`}>
    <line x1=${pad} y1=${size - pad} x2=${size - edge} y2=${edge} class="axis" />
    ${ticks(low, low + span, 4).map((value) => html`<text x=${at(value)} y=${size - pad + 14} text-anchor="middle">${value}</text><text x=${pad - 6} y=${size - at(value) + 3} text-anchor="end">${value}</text>`)}
    ${points.map(([x, y], i) => html`<circle key=${i} cx=${at(x).toFixed(1)} cy=${(size - at(y)).toFixed(1)} r="1.6" />`)}
    <text x=${size / 2} y=${size - 8} text-anchor="middle">predicted</text><text transform=${`translate(9 ${size / 2}) rotate(-90)`} text-anchor="middle">truth</text></svg>`;
}
