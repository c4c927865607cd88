// Whether to trust a classifier: held-out scores, calibration, the confusion matrix, and decisions under other costs.
import { html } from "./vendor/preact-htm.js";
import { Copy, Problem, Waterfall, percent, useAnswer } from "./parts.js";
import { Lines } from "./charts.js";

export function Screen({ model, state, change, ask }) {
  const loss = state.loss ?? {}, reject = state.reject ?? null;
  const asked = { loss, reject }, key = JSON.stringify(asked);
  const [found, problem] = useAnswer((signal) => ask("decide", asked, signal), [key]);
  const [listed] = useAnswer((signal) => (state.cell ? ask("cell", { ...asked, truth: state.cell[0], decision: state.cell[1] }, signal) : ask("worst", {}, signal)), [key, JSON.stringify(state.cell)]);
  const row = state.row ?? null;
  const [why] = useAnswer((signal) => (row && model.has_rows ? ask("why", { row }, signal) : null), [row]);
  const f = model.figures;
  const cost = (truth, decision, value) => change({ loss: { ...loss, [truth]: { ...(loss[truth] ?? {}), [decision]: value } } }, { passing: true });
  const tiles = [
    ["accuracy", percent(f.accuracy), `always ${model.commonest.class}: ${percent(model.commonest.share)}`],
    ["log-loss", `${f.log_loss.toFixed(4)} ± ${Number(f.log_loss_error).toFixed(4)}`, "mean of −log P(truth), in nats"],
    ["Brier score", f.brier.toFixed(4), "mean squared error of probabilities"],
    ["calibration error", f.ece.toFixed(4), "mean gap between probability and frequency"],
  ];
  const shown = model.classes.slice(0, 12);
  return html`<div class="trust">
    <p class="faint">${model.rows.toLocaleString("en")} held-out rows (${model.how}).</p>
    <div class="tiles">${tiles.map(([name, figure, about]) => html`<div class="tile" key=${name}>${name}<b>${figure}</b><span class="faint">${about}</span></div>`)}</div>
    ${problem && html`<${Problem} text=${problem} />`}
    <div class="pair">
      <section><h2>Calibration</h2><${Reliability} points=${model.reliability} />
        <p class="faint">A point for each range of predicted probabilities, with its 95% credible interval. On the line, predictions of 70% are right in 70% of the rows.</p></section>
      <section><h2>Confusion matrix</h2><p class="faint">Across: what is decided. Click a cell for its rows, the worst first.</p>
        ${found && html`<${Confusion} model=${model} found=${found} shown=${shown} chosen=${state.cell} choose=${(cell) => change({ cell, row: null })} />
          <p>Expected cost per row: <b>${found.cost.toFixed(4)}</b> <span class="faint">(following the most probable class: ${found.cost_of_most_probable.toFixed(4)})</span>${reject != null && html`; rejected: <b>${percent(found.rejected)}</b>`}</p>`}
      </section>
    </div>
    <section><h2>Costs</h2><p class="faint">The cost of deciding one class when another is true; the decisions above follow.</p>
      <div class="costs">${shown.slice(0, 5).flatMap((truth) => shown.slice(0, 5).filter((each) => each !== truth).map((decision) => html`<label key=${`${truth}/${decision}`} class="slider"><bdi>${decision}</bdi> where <bdi>${truth}</bdi> is true <b class="value" aria-hidden="true">${loss[truth]?.[decision] ?? 1}</b>
        <input type="range" min="0" max="20" step="0.5" value=${loss[truth]?.[decision] ?? 1} onInput=${(event) => cost(truth, decision, Number(event.target.value))} /></label>`))}
        <label class="slider"><span><input type="checkbox" checked=${reject != null} onChange=${(event) => change({ reject: event.target.checked ? 0.2 : null })} /> rejecting costs</span> <b class="value" aria-hidden="true">${reject ?? ""}</b>
        <input type="range" min="0" max="2" step="0.01" disabled=${reject == null} aria-label="Cost of rejecting" value=${reject ?? 0.2} onInput=${(event) => change({ reject: Number(event.target.value) }, { passing: true })} /></label></div>
      <button disabled=${!Object.keys(loss).length && reject == null} onClick=${() => change({ loss: null, reject: null })}>Equal costs</button></section>
    <div class="pair">
      <section><h2>${state.cell ? html`<bdi>${state.cell[0]}</bdi> decided to be <bdi>${state.cell[1]}</bdi>` : "Worst mistakes"}</h2>
        ${listed && html`<div class="scroll"><table><thead><tr><th scope="col">row</th><th scope="col">truth</th><th scope="col">predicted</th><th scope="col">P(truth)</th><th scope="col">P(predicted)</th></tr></thead>
          <tbody>${listed.rows.flatMap((each) => [html`<tr key=${each.row}><td>${model.has_rows ? html`<button aria-expanded=${row === each.row} onClick=${() => change({ row: row === each.row ? null : each.row })}>${each.row}</button>` : each.row}</td><td><bdi>${each.truth}</bdi></td><td><bdi>${each.predicted}</bdi></td><td>${percent(each.of_truth)}</td><td>${percent(each.top)}</td></tr>`, row === each.row && why && html`<tr key="why" class="reasons"><td colspan="5"><${Waterfall} found=${why.why} /></td></tr>`])}</tbody></table></div>
          <p class="faint">${listed.rows.length} of ${listed.total}${model.has_rows ? "; click a row's number for its reasons" : "; with --data rows.csv the explorer shows the rows themselves"}</p>`}</section>
      <section><h2>Classes</h2><div class="scroll"><table><thead><tr><th scope="col">class</th><th scope="col">rows</th><th scope="col">precision</th><th scope="col">recall</th></tr></thead>
        <tbody>${model.by_class.slice(0, 40).map((each) => html`<tr key=${each.class}><th scope="row"><bdi>${each.class}</bdi></th><td>${each.rows.toLocaleString("en")}</td><td>${each.precision == null ? "–" : percent(each.precision)}</td><td>${each.recall == null ? "–" : percent(each.recall)}</td></tr>`)}</tbody></table></div>
        </section>
    </div>
    ${model.tried.length > 0 && html`<section><h2>Models tried</h2><div class="scroll"><table><thead><tr><th scope="col">model</th><th scope="col">log-loss</th><th scope="col">behind the best</th><th scope="col"><span class="unseen">two standard errors</span></th><th scope="col">accuracy</th><th scope="col">weight in the pool</th></tr></thead>
          <tbody>${model.tried.map((each) => html`<tr key=${each.name}><th scope="row">${each.name}</th><td>${each.log_loss.toFixed(4)}</td>${behind(each, model.tried)}<td>${percent(each.accuracy)}</td><td>${each.share.toFixed(2)}</td></tr>`)}</tbody></table></div></section>`}
    ${model.has_curve && html`<section><h2>Learning curve</h2>${state.curve
      ? html`<${LearningCurve} ask=${ask} />`
      : html`<button class="only-live" onClick=${() => change({ curve: true })}>Draw it: learn ever more of the rows, and predict the others</button>`}</section>`}
    <${Copy} lines=${found?.copy} />
  </div>`;
}

// How far a candidate is behind the best, with two standard errors of that difference: rows that are hard for both cancel out.
function behind(each, all) {
  const best = all[0].log_loss, error = Number(each.difference_error) || 0, gap = each.log_loss - best;
  if (!gap) return html`<td>–</td><td></td>`;
  const most = Math.max(...all.map((other) => other.log_loss - best + 2 * (Number(other.difference_error) || 0))) || 1;
  const at = (x) => `${(100 * Math.max(0, Math.min(x, most))) / most}%`;
  return html`<td>${gap.toFixed(4)}${error ? ` ± ${error.toFixed(4)}` : ""}</td>
    <td class="interval-cell"><span class="interval"><i style=${{ left: at(gap - 2 * error), width: at(Math.min(4 * error, gap + 2 * error)) }}></i><b style=${{ left: at(gap) }}></b></span></td>`;
}

function LearningCurve({ ask }) {
  const [found, problem] = useAnswer((signal) => ask("curve", {}, signal), []);
  if (problem) return html`<${Problem} text=${problem} />`;
  if (!found) return html`<p class="faint" role="status">Learning …</p>`;
  const x = found.points.map((each) => each.rows), loss = found.points.map((each) => each.log_loss), error = found.points.map((each) => Number(each.error) || 0);
  const faint = { colour: "var(--faint)", dashes: "4 3" };
  return html`<div class="curve"><${Lines} x=${x} ys=${[loss, loss.map((y, i) => y - 2 * error[i]), loss.map((y, i) => y + 2 * error[i])]} names=${["log-loss", "less two standard errors", "plus two standard errors"]} upright=${String} styles=${[{}, faint, faint]} /></div>
    <p class="faint">Log-loss of held-out rows, ± two standard errors, by the number of rows learned.</p>
    <div class="scroll"><table><thead><tr><th scope="col">rows learned</th><th scope="col">log-loss</th><th scope="col">accuracy</th></tr></thead>
    <tbody>${found.points.map((each) => html`<tr key=${each.rows}><td>${each.rows.toLocaleString("en")}</td><td>${each.log_loss.toFixed(4)} ± ${Number(each.error).toFixed(4)}</td><td>${percent(each.accuracy)}</td></tr>`)}</tbody></table></div>
    <${Copy} lines=${found.copy} />`;
}

function Reliability({ points }) {
  const size = 260, pad = 44, at = (p) => pad + p * (size - pad - 8), up = (p) => size - pad - p * (size - pad - 8);
  const most = Math.max(...points.map((each) => each.rows));
  return html`<svg class="lines reliability" viewBox=${`0 0 ${size} ${size}`} role="img" aria-label="Reliability diagram: ${points.map((each) => `stated ${percent(each.stated)}, right ${percent(each.right)}`).join("; ")}">
    <line class="axis" x1=${at(0)} y1=${up(0)} x2=${at(1)} y2=${up(1)} stroke-dasharray="4 4" />
    ${[0, 0.5, 1].map((p) => html`<text x=${at(p)} y=${size - pad + 14} text-anchor="middle">${p}</text><text x=${pad - 6} y=${up(p) + 3} text-anchor="end">${p}</text>`)}
    <text x=${at(0.5)} y=${size - 4} text-anchor="middle">predicted probability</text><text transform=${`translate(10 ${up(0.5)}) rotate(-90)`} text-anchor="middle">fraction correct</text>
    ${points.map((each) => html`<line class="error" x1=${at(each.stated)} x2=${at(each.stated)} y1=${up(each.low)} y2=${up(each.high)} /><circle cx=${at(each.stated)} cy=${up(each.right)} r=${2.5 + 5 * Math.sqrt(each.rows / most)} />`)}</svg>`;
}

function Confusion({ model, found, shown, chosen, choose }) {
  const columns = [...shown, ...(found.rejected > 0 ? ["(rejected)"] : [])];
  const place = (name) => (name === "(rejected)" ? model.classes.length : model.classes.indexOf(name));
  return html`<div class="scroll"><table class="matrix"><caption class="unseen">A row for each true class, a column for each decision</caption>
    <thead><tr><th scope="col">truth</th>${columns.map((name) => html`<th scope="col" key=${name}><bdi>${name}</bdi></th>`)}</tr></thead>
    <tbody>${shown.map((truth, i) => {
      const total = found.confusion[i].reduce((sum, each) => sum + each, 0) || 1;
      return html`<tr key=${truth}><th scope="row"><bdi>${truth}</bdi></th>${columns.map((decision) => {
        const n = found.confusion[i][place(decision)], own = chosen && chosen[0] === truth && chosen[1] === decision;
        return html`<td key=${decision}><button class=${truth === decision ? "right" : "wrong"} aria-pressed=${Boolean(own)} style=${{ "--a": ((0.75 * n) / total).toFixed(2) }} onClick=${() => choose(own ? null : [truth, decision])}>${n.toLocaleString("en")}</button></td>`;
      })}</tr>`;
    })}</tbody></table></div>${model.classes.length > shown.length && html`<p class="faint">${model.classes.length - shown.length} more classes</p>`}`;
}
