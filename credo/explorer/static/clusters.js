// Clusters: what sets each apart, ellipses over two columns, and which cluster a row belongs to.
import { html } from "./vendor/preact-htm.js";
import { Cell, Copy, Problem, Waterfall, percent, signed, useAnswer } from "./parts.js";
import { Bars, colour, ticks } from "./charts.js";

export function Screen({ model, state, change, ask }) {
  const row = state.row ?? {};
  const x = state.x ?? model.numbers[0], y = state.y ?? model.numbers[1];
  const [drawn, problem] = useAnswer((signal) => (x && y && x !== y ? ask("ellipses", { x, y }, signal) : null), [x, y]);
  const [answer, wrong] = useAnswer((signal) => ask("responsibilities", { row }, signal), [JSON.stringify(row)]);
  const names = model.components.map((each) => each.name);
  const set = (name, value) => {
    const after = { ...row, [name]: value };
    if (value === "") delete after[name];
    change({ row: Object.keys(after).length ? after : null }, { passing: true });
  };
  return html`<div class="row-screen"><div class="controls">
      ${problem && html`<${Problem} text=${problem} />`}
      ${model.numbers.length > 1 && html`<section><h2>Ellipses</h2><p class="faint">Each cluster at one and at two standard deviations${model.has_rows ? "; points are rows, coloured by their most probable cluster" : ""}.</p><div class="tools">${[["x", x], ["y", y]].map(([axis, value]) => html`<label key=${axis}>${axis} <select aria-label=${`${axis} axis`} value=${value} onChange=${(event) => change({ [axis]: event.target.value })}>${model.numbers.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`)}</div>
        ${drawn && html`<${Ellipses} drawn=${drawn} x=${x} y=${y} at=${[Number(row[x]), Number(row[y])]} />`}</section>`}
      <section><h2>What distinguishes the clusters</h2><div class="cells">${model.components.map((each, k) => html`<div class="cell" key=${each.name}><b><span class="key" style=${{ background: colour(k) }}></span><bdi>${each.name}</bdi>, ${percent(each.share)} of the rows</b>
        <table>${each.traits.map((trait) => html`<tr key=${trait.column}><th scope="row"><bdi>${trait.column}</bdi></th><td class="left"><bdi>${trait.here}</bdi>${trait.elsewhere ? html` <span class="faint">(others ${trait.elsewhere})</span>` : ""}</td></tr>`)}</table></div>`)}</div></section>
      ${Object.keys(model.posterior).length > 1 && html`<section><h2>Number of clusters</h2><${Bars} names=${Object.keys(model.posterior)} shares=${Object.values(model.posterior)} /></section>`}
    </div><aside aria-label="A row"><h2>A row</h2>
      <div class="cells">${model.columns.map((column) => html`<${Cell} key=${column.name} column=${column} value=${row[column.name]} set=${set} />`)}</div>
      ${wrong && html`<${Problem} text=${wrong} />`}
      ${answer && html`<h2>P(cluster | row)</h2><${Bars} names=${names} shares=${answer.shares} />${Object.keys(row).length > 0 && html`<p class="faint">log p(row) = ${signed(answer.log_prob)} nats</p>`}${answer.why && html`<${Waterfall} found=${answer.why} />`}<${Copy} lines=${answer.copy} />`}
    </aside></div>`;
}

function Ellipses({ drawn, x, y, at }) {
  const points = [...drawn.ellipses.flatMap((each) => each.edges.flat()), ...drawn.points].filter((point) => point.every(Number.isFinite));
  if (!points.length) return null;
  const ends = [0, 1].map((i) => [Math.min(...points.map((point) => point[i])), Math.max(...points.map((point) => point[i]))]);
  const width = 560, tall = 380, pad = 44;
  const px = (v) => pad + ((v - ends[0][0]) / (ends[0][1] - ends[0][0] || 1)) * (width - 2 * pad), py = (v) => tall - pad - ((v - ends[1][0]) / (ends[1][1] - ends[1][0] || 1)) * (tall - 2 * pad);
  return html`<svg class="lines ellipses" viewBox=${`0 0 ${width} ${tall}`} role="img" aria-label=${`Clusters over ${x} and ${y}`}>
    ${drawn.points.slice(0, 3000).map((point, i) => point.every(Number.isFinite) && html`<circle key=${i} cx=${px(point[0])} cy=${py(point[1])} r="2" fill=${colour(drawn.codes[i])} fill-opacity="0.45" />`)}
    ${drawn.ellipses.map((each, k) => each.edges.map((edge) => html`<path d=${`M${edge.map((point) => `${px(point[0]).toFixed(1)} ${py(point[1]).toFixed(1)}`).join("L")}Z`} fill="none" stroke=${colour(k)} stroke-width="2" />`))}
    ${at.every(Number.isFinite) && html`<circle cx=${px(at[0])} cy=${py(at[1])} r="6" class="here" />`}
    ${ticks(...ends[0], 6).map((value) => html`<text x=${px(value)} y=${tall - 20} text-anchor="middle">${value}</text>`)}${ticks(...ends[1], 5).map((value) => html`<text x=${pad - 6} y=${py(value) + 3} text-anchor="end">${value}</text>`)}
    <text x=${width / 2} y=${tall - 4} text-anchor="middle">${x}</text><text transform=${`translate(10 ${tall / 2}) rotate(-90)`} text-anchor="middle">${y}</text></svg>`;
}
