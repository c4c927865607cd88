// From prior to posterior: drag the prior, add observations, watch what is believed.
import { html, useState } from "./vendor/preact-htm.js";
import { Copy, Problem, percent, short, signed, useAnswer } from "./parts.js";
import { Legend, Lines, colour, filled, interpolated } from "./charts.js";
import { Typed } from "./typed.js";

const STYLES = { prior: { colour: "#888888", dashes: "5 4" }, likelihood: { colour: "#ee7733", dashes: "2 3" }, posterior: { colour: "#4477aa" }, predictive: { colour: "#228833" } };
const valuesIn = (text) => text.split(/[\s,;]+/).filter(Boolean).map((each) => (Number.isFinite(Number(each)) ? Number(each) : each));

export function Screen({ model, state, change, ask }) {
  const prior = state.prior ?? undefined, added = state.added ?? [], other = state.other ?? [];
  const key = JSON.stringify([prior, added]);
  const [answer, problem] = useAnswer((signal) => ask("move", { prior, added }, signal), [key]);
  const [needed, unknown] = useAnswer((signal) => ask("needed", { prior, added, half_width: state.half }, signal), [key, state.half], 150);
  const [against, unlike] = useAnswer((signal) => (other.length ? ask("compare", { prior, added, other }, signal) : null), [key, JSON.stringify(other)]);
  const handles = prior ?? model.prior, like = model.family === "BetaBernoulli" ? "1 0 1" : model.values.slice(0, 3).join(" ") || "values";
  const drag = (part) => change({ prior: { mean: handles.mean, strength: handles.strength, ...part } }, { passing: true });
  const share = (value, i) => html`<${Slider} key=${i} name=${`mean of P(${value})`} bounds=${model.prior} value=${handles.mean[i]} set=${(mean) => drag({ mean: withShare(handles.mean, i, mean) })} />`;
  return html`<div class="belief">
    <div class="controls">
      ${model.prior && html`<section><h2>Prior</h2>
        ${Array.isArray(handles.mean) ? model.values.slice(0, handles.mean.length).map(share) : html`<${Slider} name="mean" bounds=${model.prior} value=${handles.mean} set=${(mean) => drag({ mean })} />`}
        <label class="slider">strength, in observations <b class="value" aria-hidden="true">${short(Number(handles.strength).toPrecision(3))}</b>
          <input type="range" min="-2" max="4" step="0.01" value=${Math.log10(handles.strength)} onInput=${(event) => drag({ strength: 10 ** Number(event.target.value) })} /></label>
        <button disabled=${!prior} onClick=${() => change({ prior: null })}>Back to the first prior</button></section>`}
      <section><h2>Observations</h2>
        <${Adding} like=${like} label="Add observations" values=${added} set=${(values) => change({ added: values.length ? values : null })} />
        <p class="faint">${answer ? `${answer.n.toLocaleString("en")} in all` : ""}</p></section>
      ${model.comparable && html`<section><h2>Another belief</h2><p class="faint">The same prior, its own observations.</p>
        <${Adding} like=${like} label="Its observations" values=${other} set=${(values) => change({ other: values.length ? values : null })} />
        ${unlike && html`<${Problem} text=${unlike} />`}
        ${against && html`<${Differences} found=${against.differences} /><${Copy} lines=${against.copy} />`}</section>`}
      <section><h2>How much more data?</h2><label>until ${model.single ? "the 95% interval is" : "all 95% intervals are"} ± <${Typed} type="number" min="0" step="any" value=${state.half ?? needed?.wanted ?? ""} read=${(text) => Number(text) > 0 && change({ half: Number(text) }, { passing: true })} /></label>
        <p role="status">${unknown ?? (needed && (needed.rows == null ? "more than a million million observations" : needed.rows === 0 ? `none: ± ${short(needed.half_width.toPrecision(3))} now` : `about ${needed.rows.toLocaleString("en")} more observations like those so far`))}</p></section>
    </div>
    <aside aria-label="Posterior">
      ${problem && html`<${Problem} text=${problem} />`}
      ${answer && html`<div class="scroll"><table><thead><tr><th scope="col">parameter</th><th scope="col">mean</th><th scope="col">mode</th><th scope="col">95% interval</th></tr></thead>
        <tbody>${answer.estimates.map((row) => html`<tr key=${row[0]}>${row.map((cell, i) => (i ? html`<td>${cell}</td>` : html`<th scope="row"><bdi>${cell}</bdi></th>`))}</tr>`)}</tbody></table></div>
        <p class="faint">${answer.maximum_likelihood == null ? "" : `Maximum likelihood: ${shown(answer.maximum_likelihood, answer.estimates.map((row) => row[0]))}.`} ${answer.log_evidence == null ? "" : `Log evidence: ${signed(answer.log_evidence)} nats.`}</p>
        <div class="figures">${answer.charts.map((chart, i) => html`<${Chart} key=${i} chart=${chart} other=${i === 0 ? against?.charts[0] : null} />`)}</div>
        <${Copy} lines=${answer.copy} />`}
    </aside>
  </div>`;
}

// A number, several with their parameters' names, or a mapping.
const shown = (value, names = []) => (Array.isArray(value) ? value.map((each, i) => `${value.length === names.length ? `${names[i]} ` : ""}${shown(each)}`).join(", ") : value && typeof value === "object" ? Object.entries(value).slice(0, 8).map(([k, v]) => `${k}: ${shown(v)}`).join(", ") : short(value));

// The other shares keep their ratios.
const withShare = (shares, i, share) => shares.map((each, j) => (j === i ? share : (each * (1 - share)) / (1 - shares[i])));

const figure = (value) => short(Number(value).toPrecision(3));

function Slider({ name, bounds, value, set }) {
  return html`<label class="slider"><bdi>${name}</bdi> <b class="value" aria-hidden="true">${figure(value)}</b>
    <input type="range" min=${bounds.low} max=${bounds.high} step=${(bounds.high - bounds.low) / 500} value=${value} onInput=${(event) => set(Number(event.target.value))} /></label>`;
}

// A sentence about one parameter; of several probabilities a table.
function Differences({ found }) {
  const between = ({ interval: [low, high] }) => `[${figure(low)}, ${figure(high)}]`;
  if (found.length === 1) return html`<p>P(this one is greater) = <b>${percent(found[0].greater)}</b>; difference of the means ${figure(found[0].difference)}, 95% interval ${between(found[0])}</p>`;
  return html`<div class="scroll"><table><thead><tr><th scope="col">value</th><th scope="col">difference</th><th scope="col">95% interval</th><th scope="col">P(greater)</th></tr></thead>
    <tbody>${found.map((each) => html`<tr key=${each.value}><th scope="row"><bdi>${each.value}</bdi></th><td>${figure(each.difference)}</td><td>${between(each)}</td><td>${percent(each.greater)}</td></tr>`)}</tbody></table></div>`;
}

function Adding({ label, values, set, like }) {
  const [text, setText] = useState("");
  const add = (event) => (event.preventDefault(), set([...values, ...valuesIn(text)]), setText(""));
  return html`<form onSubmit=${add}><label>${label} <input value=${text} placeholder=${like} onInput=${(event) => setText(event.target.value)} /></label>
    <button>Add</button> <button type="button" disabled=${!values.length} onClick=${() => set(values.slice(0, -1))}>Undo</button>
    ${values.length > 0 && html`<p class="faint">added: ${values.slice(-20).join(", ")}</p>`}</form>`;
}

function Chart({ chart, other }) {
  if (chart.bars) {
    const entries = Object.entries(chart.bars).slice(0, 24), most = Math.max(1e-12, ...entries.map(([, p]) => p)), whole = most < 0.25 ? most : 1; // of many small shares the largest fills its bar
    return html`<figure><figcaption>${chart.x_label}</figcaption><ul class="bars">${entries.map(([value, p]) => html`<li key=${value}><div><span class="share" style=${{ ...filled(p / whole), background: STYLES.predictive.colour }}></span><span class="label"><bdi>${value}</bdi></span><span>${percent(p)}</span></div></li>`)}</ul></figure>`;
  }
  const several = chart.curves.filter((each) => each.role === "posterior"), many = several.length > 1;
  const others = (other?.curves ?? []).filter((each) => each.role === "posterior").map((each, i) => ({ ...each, label: many ? each.label : "the other's posterior", own: many ? { colour: colour(i), dashes: "5 4" } : { colour: "#aa3377" } }));
  const curves = [...chart.curves, ...others], named = many ? chart.curves : curves;
  if (!curves.length) return html`<p class="faint">${chart.note}</p>`;
  const style = (each) => each.own ?? (many ? { colour: colour(several.indexOf(each)) } : STYLES[each.role]);
  const x = curves[0].x, on = (curve) => (curve.x === x ? curve.y : x.map((each) => interpolated(curve, each)));
  return html`<figure><figcaption>${chart.x_label}</figcaption>
    <${Lines} x=${x} ys=${curves.map(on)} names=${curves.map((each) => each.label)} styles=${curves.map(style)} top=${topOf(curves)} />
    ${named.some((each) => each.label) && html`<${Legend} names=${named.map((each) => each.label)} colours=${named.map((each) => style(each).colour)} />`}
    ${many && others.length > 0 && html`<p class="faint">dashed: the other belief</p>`}</figure>`;
}

// A density without bound at its ends must not flatten the others: a prior's doesn't count, another's up to three times the highest peak inside.
function topOf(curves) {
  const shown = curves.filter((each) => each.role !== "prior").map(({ y }) => y.map((each) => (Number.isFinite(each) ? each : 0)));
  if (!shown.length) return undefined;
  const peaks = shown.map((y) => Math.max(...y)), inside = peaks.filter((peak, i) => shown[i].slice(2, -2).includes(peak));
  return Math.min(Math.max(...peaks), inside.length ? 3 * Math.max(...inside) : Infinity) * 1.1;
}
