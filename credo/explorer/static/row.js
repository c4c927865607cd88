// A row of a table, or a message: a control for each column, the classes' probabilities, and why.
import { h, html, useState } from "./vendor/preact-htm.js";
import { Cell, Copy, Diverging, Problem, Waterfall, percent, short, signed, useAnswer } from "./parts.js";
import { Bars, Legend, Lines, colour, dayOf } from "./charts.js";

export function Screen({ model, state, change, ask }) {
  const row = state.row ?? {}, taught = state.taught ?? [];
  const key = JSON.stringify([row, taught, state.of, state.struck]);
  const sent = { row: struckOut(row, state.struck), taught, of: state.of ?? undefined };
  const [answer, problem] = useAnswer(async (signal) => ({ ...(await ask("predict", sent, signal)), row: sent.row }), [key]);
  const texts = model.columns.filter((each) => each.kind === "text"), others = model.columns.filter((each) => each.kind !== "text");
  const drawn = Math.max(0, ...others.map((column) => (column.density?.form === "category" ? 0 : column.density?.heights.length ?? 0)));
  const set = (name, value, passing) => {
    const after = { ...row, [name]: value };
    if (value === "" || value == null) delete after[name];
    change({ row: after, struck: null }, { passing });
  };
  return html`<div class="row-screen">
    <div class="controls">
      ${texts.map((column) => html`<${Message} key=${column.name} column=${column} text=${row[column.name] ?? ""} judged=${answer?.row[column.name] ?? ""} pieces=${answer?.texts?.[column.name]}
        of=${answer?.why.of} struck=${state.struck?.[column.name] ?? []} set=${set} change=${change} state=${state} />`)}
      ${others.length > 0 && html`<section><h2>Cells</h2><p class="faint">An empty cell is missing; it is marginalised.${drawn > 0 ? " Curves: the column in each class." : ""}</p>${drawn > 0 && html`<${Legend} names=${model.classes.slice(0, drawn)} />`}
        <div class="cells">${others.map((column) => html`<${Cell} key=${column.name} column=${column} value=${row[column.name]} set=${set} classes=${model.classes}
          chosen=${state.column === column.name} choose=${() => change({ column: state.column === column.name ? null : column.name })} />`)}</div></section>`}
    </div>
    <aside aria-label="Prediction">
      ${problem && html`<${Problem} text=${problem} />`}
      ${answer && html`<section><h2><bdi>${model.target}</bdi></h2>
        <${Bars} names=${model.classes} shares=${answer.shares} chosen=${state.of} choose=${(name) => change({ of: state.of === name ? null : name })} /></section>
        <${Teach} model=${model} row=${sent.row} taught=${taught} shares=${answer.shares} change=${change} ask=${ask} />
        <section><h2>Why</h2><${Waterfall} found=${answer.why} /></section>
        ${texts.map((column) => html`<${Words} key=${column.name} words=${answer.words?.[column.name]} />`)}`}
      ${state.column && html`<${Curve} model=${model} sent=${sent} column=${state.column} now=${row[state.column]} ask=${ask} depends=${key} />`}
      ${others.length > 0 && html`<${Changes} sent=${sent} ask=${ask} depends=${key} set=${set} />`}
      <${Copy} lines=${answer?.copy} />
      ${model.scores && html`<p class="faint">${model.scores}</p>`}
    </aside>
  </div>`;
}

// Words that the user struck out are not in the text that is judged.
function struckOut(row, struck) {
  if (!struck) return row;
  const after = { ...row };
  for (const [name, words] of Object.entries(struck))
    if (typeof after[name] === "string")
      after[name] = after[name].split(/(\s+)/).filter((word) => !words.includes(bare(word))).join("");
  return after;
}
const bare = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");

function Message({ column, text, judged, pieces, of, struck, set, change, state }) {
  const strike = (text) => {
    const word = bare(text);
    if (!word) return;
    const own = struck.includes(word) ? struck.filter((each) => each !== word) : [...struck, word];
    change({ struck: { ...(state.struck ?? {}), [column.name]: own } });
  };
  return html`<section class="message"><h2><label for=${`text-${column.name}`}><bdi>${column.name}</bdi></label></h2>
    <textarea id=${`text-${column.name}`} rows="8" value=${text} placeholder="Type or paste a text" onInput=${(event) => set(column.name, event.target.value, true)}></textarea>
    ${struck.length > 0 && html`<p>Struck out: ${struck.map((word) => html`<button key=${word} class="struck" onClick=${() => strike(word)}>${word}</button> `)}</p>`}
    <${Coloured} text=${judged} pieces=${pieces} strike=${strike} />
    ${pieces && html`<p class="faint"><span class="key for shade4"></span>for <bdi>${of}</bdi> <span class="key against shade4"></span>against it. Click a word to strike it out.</p>`}
  </section>`;
}

const SHADES = 5; // of a colour: words of about the same weight look alike, and few of them change when one is typed

// The pieces of a text by their lengths in characters, some of which are two for JavaScript.
function cut(text, lengths) {
  const characters = /[\ud800-\udfff]/.test(text) ? [...text] : null;
  let at = 0;
  return lengths.map((length) => {
    const start = at;
    at += length;
    return characters ? characters.slice(start, at).join("") : text.slice(start, at);
  });
}

// The text, its words coloured by their weights. One handler serves all words: a message may have thousands.
function Coloured({ text, pieces, strike }) {
  const { lengths = [], weights = [] } = pieces ?? {};
  const strongest = weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 1e-9);
  const shade = (weight) => Math.max(1, Math.ceil((SHADES * Math.abs(weight)) / strongest));
  const struck = (event) => event.target.tagName === "BUTTON" && strike(event.target.textContent);
  const hover = (event) => {
    if (event.target.tagName === "BUTTON") event.target.title = `${signed(weights[event.target.dataset.i])} nats; click to strike it out`;
  };
  return html`<div class="coloured" aria-label="The text, its words coloured by their weights" role="group" onClick=${struck} onMouseOver=${hover}>${cut(text, lengths).map((word, i) =>
    weights[i] ? h("button", { "data-i": i, class: `${weights[i] > 0 ? "for" : "against"} shade${shade(weights[i])}` }, word) : word)}</div>`;
}

// The words and pairs that weigh most, for a class and against it.
function Words({ words }) {
  if (!words?.length) return null;
  return html`<section><h2>Words</h2><${Diverging} rows=${words.map((each) => ({ name: each.word, figure: signed(each.weight), size: each.weight }))} head=${["word", "weight, nats"]} /></section>`;
}

function Curve({ model, sent, column, now, ask, depends }) {
  const [curve, problem] = useAnswer((signal) => ask("curve", { ...sent, column }, signal), [depends, column]);
  if (problem) return html`<${Problem} text=${problem} />`;
  if (!curve || curve.column !== column) return null;
  const x = curve.places ?? curve.values, numbers = x.every((each) => typeof each === "number");
  return html`<section><h2>What if <bdi>${column}</bdi> were …</h2>${numbers
    ? html`<${Lines} x=${x} ys=${curve.shares} names=${model.classes} at=${curve.places ? dayOf(now) : now} dates=${Boolean(curve.places)} top=${1} upright=${(p) => `${100 * p}%`} />`
    : html`<table>${curve.values.map((value, i) => html`<tr key=${i}><th scope="row"><bdi>${String(value)}</bdi></th>${curve.shares.map((p, k) => html`<td key=${k}><span class="key" style=${{ background: colour(k) }}></span>${percent(p[i])}</td>`)}</tr>`)}</table>`}
    <${Legend} names=${model.classes.slice(0, 8)} /></section>`;
}

function Changes({ sent, ask, depends, set }) {
  const [found] = useAnswer((signal) => ask("changes", sent, signal), [depends], 250);
  if (!found?.changes.length) return null;
  return html`<section><h2>Nearest changes of the decision</h2><ul class="changes">${found.changes.slice(0, 5).map((each) => html`<li key=${each.column}>
    <button onClick=${() => set(each.column, each.value)}><bdi>${each.column}</bdi> = <bdi>${typeof each.value === "number" ? short(each.value) : String(each.value)}</bdi></button>${" "}→ <bdi>${each.class}</bdi> (${percent(each.probability)})</li>`)}</ul></section>`;
}

function Teach({ model, row, taught, shares, change, ask }) {
  const [said, setSaid] = useState("");
  const best = model.classes[shares.indexOf(Math.max(...shares))];
  const [right, setRight] = useState("");
  const teach = () => change({ taught: [...taught, { row, class: right || best }] });
  const save = async () => {
    try {
      const found = await ask("save", { taught });
      setSaid(`${found.saved} rows saved; the model has ${found.rows.toLocaleString("en")}`);
      change({ taught: null });
    } catch (error) {
      setSaid(error.message);
    }
  };
  return html`<section class="teach only-live"><label>The right class is <select value=${right || best} onChange=${(event) => setRight(event.target.value)}>
      ${model.classes.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>
    <button onClick=${teach}>Teach it</button>
    ${taught.length > 0 && html`<button onClick=${() => change({ taught: taught.slice(0, -1) })}>Undo (${taught.length} taught)</button>
      ${model.file && html`<button onClick=${save}>Save</button>`}`}
    <span role="status" class="faint">${said}</span></section>`;
}
