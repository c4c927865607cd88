// An influence diagram: what is known, the best policy, what it is worth, and what to ask before a decision.
import { html, useMemo, useRef } from "./vendor/preact-htm.js";
import { Content, Copy, Problem, useAnswer } from "./parts.js";
import { Typed } from "./typed.js";
import { Board, Found } from "./board.js";

const figure = (x) => String(Number(Number(x).toPrecision(5)));

export function Screen({ model, state, change, ask }) {
  const given = state.given ?? {}, key = JSON.stringify(given);
  const around = model.whole ? null : (state.around ?? model.variables[0].name);
  const byName = useMemo(() => Object.fromEntries(model.variables.map((each) => [each.name, each])), [model]);
  const [places, lost] = useAnswer((signal) => ask("layout", { around, beside: model.whole ? {} : given }, signal), [around, model.whole ? "" : key]);
  const [answer, problem] = useAnswer((signal) => ask("solve", { given }, signal), [key]);
  const shown = useRef({}), ghost = useRef({});
  const now = answer?.marginals && { ...answer.marginals, ...answer.utilities };
  if (now && answer !== shown.current.answer) {
    ghost.current = shown.current.now ?? now;
    shown.current = { answer, now };
  }
  const find = (name, finding, passing) => {
    const own = { ...given };
    if (finding === undefined) delete own[name];
    else own[name] = finding;
    change({ given: Object.keys(own).length ? own : null }, { passing });
  };
  const open = model.decisions.filter((name) => !(name in given));
  return html`<div class="network"><div class="board">
      <div class="tools"><span class="faint">□ decisions, ◇ utilities</span><button disabled=${!Object.keys(given).length} onClick=${() => change({ given: null })}>Clear findings</button></div>
      ${lost && html`<${Problem} text=${lost} />`}
      ${places && shown.current.now && html`<${Board} model=${model} byName=${byName} places=${places} shares=${shown.current.now} ghost=${ghost.current} given=${given} done=${{}} target=${null}
        conflict=${new Set(answer?.findings ?? [])} find=${find} change=${change} around=${around} edges=${null} />`}</div>
    <aside aria-label="Answers">
      ${problem && html`<${Problem} text=${problem} />`}${answer?.conflict && html`<${Problem} text=${answer.conflict} />`}
      <${Found} given=${given} byName=${byName} find=${find} change=${change} />
      ${answer?.policy && html`<section class="figure-line"><h2>Expected utility</h2><p><b>${figure(answer.expected_utility)}</b></p></section>
        ${answer.policy.map((each) => html`<section key=${each.name}><h2><bdi>${each.title}</bdi></h2><${Content} table=${each.table} />
          ${each.more > 0 && html`<p class="faint">${each.more.toLocaleString("en")} more situations</p>`}
          ${each.irrelevant.length > 0 && html`<p class="faint">Known, too, but makes no difference: <bdi>${each.irrelevant.join(", ")}</bdi></p>`}</section>`)}
        <${Copy} lines=${answer.copy} />`}
      ${open.length > 0 && html`<${Worth} open=${open} given=${given} state=${state} change=${change} ask=${ask} />`}
      <p class="faint">Click an observed state, or an option already taken: the policy is for the remaining decisions.</p>
    </aside></div>`;
}

// The value of knowing each variable before a decision.
function Worth({ open, given, state, change, ask }) {
  const before = open.includes(state.before) ? state.before : open[0], costs = state.costs ?? {};
  const [found, problem] = useAnswer((signal) => ask("ask", { before, costs, given }, signal), [before, JSON.stringify([costs, given])]);
  const most = Math.max(1e-12, ...(found?.questions ?? []).map((each) => each.value));
  return html`<section><h2>Value of information</h2>
    <label class="choice">before <select value=${before} onChange=${(event) => change({ before: event.target.value })}>${open.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>
    ${problem && html`<${Problem} text=${problem} />`}
    ${found && (found.questions.length === 0 ? html`<p class="faint">Nothing is left to ask.</p>` : html`<table class="next"><thead><tr><th scope="col">variable</th><th scope="col">value</th><th scope="col"><span class="unseen">bar</span></th><th scope="col">cost</th><th scope="col">worth</th></tr></thead>
      <tbody>${found.questions.map((each) => html`<tr key=${each.name}><th scope="row"><bdi>${each.name}</bdi></th><td>${figure(each.value)}</td><td class="wide"><span class="bar" style=${{ width: `${(100 * each.value) / most}%` }}></span></td>
        <td><${Typed} type="number" min="0" step="any" value=${costs[each.name] || ""} aria-label=${`Cost of asking about ${each.name}`} settle=${(text) => change({ costs: { ...costs, [each.name]: Number(text) || 0 } })} /></td><td>${figure(each.worth)}</td></tr>`)}</tbody></table>
      <${Copy} lines=${found.copy} />`)}</section>`;
}
