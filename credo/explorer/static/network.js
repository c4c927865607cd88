// A network: cards with a bar for each state. A click is evidence, shift-click excludes, dragging a bar gives a likelihood.
import { html, useMemo, useRef } from "./vendor/preact-htm.js";
import { Content, Copy, Problem, Waterfall, percent, useAnswer } from "./parts.js";
import { Board, Found } from "./board.js";
import { filled } from "./charts.js";
import { Typed } from "./typed.js";

export function Screen({ model, state, change, ask }) {
  const given = state.given ?? {}, done = state.do ?? {}, doing = state.doing ?? false;
  const target = state.target ?? null;
  const around = model.whole ? null : (state.around ?? model.variables[0].name);
  const byName = useMemo(() => Object.fromEntries(model.variables.map((each) => [each.name, each])), [model]);
  const findings = { given, do: done };
  const key = JSON.stringify(findings);

  const [places, lost] = useAnswer(
    (signal) => ask("layout", { around, reach: state.reach, beside: model.whole ? {} : { ...given, ...done, ...(target ? { [target.name]: 1 } : {}) } }, signal),
    [around, state.reach, model.whole ? "" : key + JSON.stringify(target)],
  );
  const [answer, problem] = useAnswer((signal) => ask("marginals", { ...findings, target: target?.name }, signal), [key, target?.name]);
  const [why] = useAnswer(
    (signal) => (target ? ask("explain", { ...findings, target: target.name, value: target.state }, signal) : null),
    [key, JSON.stringify(target)],
  );
  const [next] = useAnswer((signal) => (model.asks && target && !byName[target.name]?.number && !(target.name in given) ? ask("next", { ...findings, target: target.name, costs: state.costs ?? {} }, signal) : null), [
    key, target?.name, JSON.stringify(state.costs ?? {}),
  ]);
  const [edges, unsure] = useAnswer((signal) => (state.edges ? ask("edges", {}, signal) : null), [state.edges]);
  // What bars showed before the last change stays behind them as a ghost.
  const shown = useRef(model.prior), ghost = useRef(model.prior);
  if (answer?.marginals && answer.marginals !== shown.current) {
    ghost.current = shown.current;
    shown.current = answer.marginals;
  }

  const find = (name, finding, passing) => {
    const [kept, other] = doing && finding !== undefined && typeof finding !== "object" ? ["do", "given"] : ["given", "do"];
    const own = { ...(state[kept] ?? {}) }, rest = { ...(state[other] ?? {}) };
    delete rest[name];
    if (finding === undefined) delete own[name];
    else own[name] = finding;
    change({ [kept]: own, [other]: rest }, { passing });
  };
  const conflict = new Set(answer?.findings ?? []);

  return html`<div class="network">
    <div class="board">
      <${Tools} model=${model} doing=${doing} change=${change} around=${around} reach=${places?.reach ?? 1} findings=${{ ...given, ...done }} edges=${state.edges} />
      ${lost && html`<${Problem} text=${lost} />`}
      ${places && html`<${Board} model=${model} byName=${byName} places=${places} shares=${shown.current} ghost=${ghost.current}
        given=${given} done=${done} target=${target} conflict=${conflict} find=${find} change=${change} around=${around} sought=${model.whole ? state.sought : null} edges=${state.edges ? edges : null} />`}
    </div>
    <aside aria-label="Answers">
      ${problem && html`<${Problem} text=${problem} />`}
      ${answer?.conflict && html`<${Problem} text=${answer.conflict} />`}
      ${(answer?.notice || model.notice) && html`<p class="notice">${answer?.notice || model.notice}</p>`}
      ${unsure && html`<${Problem} text=${unsure} />`}
      <${Found} given=${given} done=${done} byName=${byName} find=${find} change=${change} log=${answer?.log_probability} density=${answer?.density} />
      ${target
        ? html`<section><h2>Why</h2>${why ? html`<${Waterfall} found=${why} />` : html`<p class="faint">…</p>`}
          ${why?.copy && html`<${Copy} lines=${why.copy} />`}</section>
          ${next && html`<${Next} next=${next} costs=${state.costs ?? {}} change=${change} />`}
          <${Table} name=${target.name} byName=${byName} ask=${ask} learned=${model.learned} />
          ${model.sensitive && html`<${Sensitivity} findings=${findings} target=${target} state=${state} change=${change} ask=${ask} />
            <${Effect} model=${model} target=${target} state=${state} change=${change} ask=${ask} />`}`
        : html`<p class="faint">Click a state: evidence. Shift-click: not this state. Drag a bar: a likelihood.${model.variables.some((each) => each.number) ? " Click a curve: a number; drag over it: an interval." : ""} Click a name: why${model.asks ? ", and what to ask next" : ""}.</p>`}
      ${state.edges && edges && html`<${Edges} edges=${edges} />`}
      <${Copy} lines=${answer?.copy} />
    </aside>
  </div>`;
}

function Edges({ edges }) {
  return html`<section><h2>Edge confidence</h2><p class="faint">P(arrow), ${edges.how}; the least sure first.</p>
    <ul class="bars">${edges.arrows.slice(0, 40).map((each) => html`<li key=${`${each.from}\u0000${each.to}`}><div><span class="share" style=${filled(each.probability)}></span>
      <span class="label"><bdi>${each.from}</bdi> → <bdi>${each.to}</bdi></span><span>${percent(each.probability)}</span></div></li>`)}</ul></section>`;
}

function Tools({ model, doing, change, around, reach, findings, edges }) {
  const names = model.variables.map((each) => each.name);
  const search = (event) => {
    const name = event.target.value;
    if (names.includes(name)) change(model.whole ? { sought: name } : { around: name });
  };
  return html`<div class="tools">
    <label>Find <input list="names" onChange=${search} placeholder=${around ?? "a variable"} /></label>
    <datalist id="names">${names.map((name) => html`<option value=${name} key=${name} />`)}</datalist>
    ${!model.whole && html`<label title="Markov blankets around the variable">Reach <select value=${reach} onChange=${(event) => change({ reach: Number(event.target.value) })}>${[1, 2, 3, 4].map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>`}
    ${model.directed && html`<fieldset class="switch"><legend class="unseen">A click is</legend>
      <label><input type="radio" name="doing" checked=${!doing} onChange=${() => change({ doing: null })} /> seeing</label>
      <label><input type="radio" name="doing" checked=${doing} onChange=${() => change({ doing: true })} /> doing</label></fieldset>`}
    ${model.unsure && html`<label><input type="checkbox" checked=${Boolean(edges)} onChange=${(event) => change({ edges: event.target.checked || null })} /> edge confidence</label>`}
    <button disabled=${!Object.keys(findings).length} onClick=${() => change({ given: null, do: null })}>Clear findings</button>
  </div>`;
}

function Next({ next, costs, change }) {
  const most = Math.max(1e-12, ...next.questions.map((each) => each.gain));
  const price = (name, value) => change({ costs: { ...costs, [name]: Number(value) || 0 } });
  return html`<section><h2>What to ask next</h2>
    <p class="faint">Expected information about <bdi>${next.target}</bdi>, of ${next.entropy.toFixed(3)} nats that are open; a cost is in nats.</p>
    <table class="next"><thead><tr><th scope="col">variable</th><th scope="col">gain</th><th scope="col"><span class="unseen">bar</span></th><th scope="col">cost</th></tr></thead>
    <tbody>${next.questions.slice(0, 8).map((each) => html`<tr key=${each.name}><th scope="row"><bdi>${each.name}</bdi></th><td>${each.gain.toFixed(4)}</td>
      <td class="wide"><span class="bar" style=${{ width: `${(100 * each.gain) / most}%` }}></span></td>
      <td><${Typed} type="number" min="0" step="0.01" value=${costs[each.name] || ""} aria-label=${`Cost of asking about ${each.name}`} settle=${(text) => price(each.name, text)} /></td></tr>`)}</tbody></table></section>`;
}

function Table({ name, byName, ask, learned }) {
  const [table] = useAnswer((signal) => ask("table", { name }, signal), [name]);
  if (!table || table.name !== name) return null;
  if (table.lines) return html`<details open><summary>${table.title}</summary><ul class="lines-of">${table.lines.map((line, i) => html`<li key=${i}><code>${line}</code></li>`)}</ul></details>`;
  const states = byName[name].states;
  return html`<details><summary>Table of <bdi>${name}</bdi>${learned ? ", with 95% credible intervals" : ""}</summary><div class="scroll"><table>
    <thead><tr>${table.parents.map((each) => html`<th scope="col" key=${each}>${each}</th>`)}${states.map((each) => html`<th scope="col" key=${each}>${each}</th>`)}</tr></thead>
    <tbody>${table.rows.map((row, i) => html`<tr key=${i}>${row.given.map((each) => html`<td><bdi>${each}</bdi></td>`)}
      ${row.shares.map((p, j) => html`<td>${p.toPrecision(3)}${row.intervals ? html`<br /><span class="faint">${row.intervals[j].map((x) => x.toFixed(3)).join(" – ")}</span>` : ""}</td>`)}</tr>`)}</tbody></table></div>
    ${table.more > 0 && html`<p class="faint">${table.more} more rows</p>`}</details>`;
}

// How far entries of tables move the answer: asked for when it is opened.
function Sensitivity({ findings, target, state, change, ask }) {
  const open = Boolean(state.sensitivity);
  const [found, problem] = useAnswer((signal) => (open ? ask("sensitivity", { ...findings, target: target.name, value: target.state }, signal) : null), [open, JSON.stringify([findings, target])]);
  return html`<details open=${open} onToggle=${(event) => event.target.open !== open && change({ sensitivity: event.target.open || null })}><summary>Sensitivity: entries of tables that move the answer most</summary>
    ${problem && html`<${Problem} text=${problem} />`}${open && found && html`<p class="faint">${found.title}</p><${Content} table=${found.table} /><${Copy} lines=${found.copy} />`}</details>`;
}

// P(target | do(cause)), beside P(target | cause).
function Effect({ model, target, state, change, ask }) {
  const cause = state.cause ?? "", causes = model.variables.map((each) => each.name).filter((name) => name !== target.name);
  const [found, problem] = useAnswer((signal) => (cause && cause !== target.name ? ask("effect", { cause, target: target.name }, signal) : null), [cause, target.name]);
  return html`<section><h2>Effect of a cause</h2><label class="choice">of <select value=${cause} onChange=${(event) => change({ cause: event.target.value || null })}>
      <option value="">choose a cause</option>${causes.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label> on <bdi>${target.name}</bdi>
    ${problem && html`<${Problem} text=${problem} />`}${found && html`<p><code>${found.formula}</code></p><p class="faint">${found.reason}</p><${Content} table=${found.table} /><${Copy} lines=${found.copy} />`}</section>`;
}
