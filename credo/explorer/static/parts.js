// Parts that all screens share.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.js";
import { Lines, dayOf, percent } from "./charts.js";
import { Typed } from "./typed.js";

export { percent };

export const signed = (x) =>
  x === "Infinity" || x === Infinity ? "+∞" : x === "-Infinity" || x === -Infinity ? "−∞" : Math.abs(x) < 0.0005 ? "0.000" : (x < 0 ? "−" : "+") + Math.abs(x).toFixed(3);

// A number in four digits, without noise behind them.
export const short = (x) => (Number.isFinite(Number(x)) ? String(Number(Number(x).toPrecision(4))).replace("-", "−") : String(x));

export function Problem({ text }) {
  return html`<p class="problem" role="alert">${text}</p>`;
}

export function Shell({ subject, kind, choose, children }) {
  return html`<header class="top">
      <h1>${subject.title}</h1>
      ${subject.screens.length > 1 && html`<nav class="tabs" aria-label="Screens">${subject.screens.map((each) => html`<button key=${each.kind} aria-current=${each.kind === kind ? "page" : undefined} onClick=${() => choose(each.kind)}>${each.title}</button>`)}</nav>`}
      <nav aria-label="Page">
        <${Theme} />
        <button onClick=${exportPage} title="Save what is shown as one file">Export HTML</button>
      </nav>
    </header>
    <main>${children}</main>
    <footer class="faint">credo ${subject.credo}</footer>`;
}

function Theme() {
  const [theme, setTheme] = useState(() => localStorage.getItem("credo-theme") ?? "auto");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("credo-theme", theme);
  }, [theme]);
  return html`<label class="choice">Theme
    <select value=${theme} onChange=${(event) => setTheme(event.target.value)}>
      <option value="auto">as the system</option><option value="light">light</option><option value="dark">dark</option>
    </select></label>`;
}

// What controls hold, which a copy of the page doesn't have by itself.
function kept(page, copy) {
  const controls = "input, select, textarea", copies = copy.querySelectorAll(controls);
  page.querySelectorAll(controls).forEach((each, i) => {
    const other = copies[i];
    if (each.type === "checkbox" || each.type === "radio") other.toggleAttribute("checked", each.checked);
    else if (each.tagName === "SELECT") [...other.options].forEach((option, k) => option.toggleAttribute("selected", k === each.selectedIndex));
    else if (each.tagName === "TEXTAREA") other.textContent = each.value;
    else other.setAttribute("value", each.value);
  });
}

// One file without scripts: what the page shows now.
async function exportPage() {
  const sheets = await Promise.all(["credo.css", "explorer.css"].map(async (name) => (await fetch(`/static/${name}`)).text()));
  const page = document.documentElement.cloneNode(true);
  kept(document.documentElement, page);
  page.classList.add("exported");
  page.querySelectorAll("script, link, noscript, header nav, .only-live").forEach((each) => each.remove());
  page.querySelectorAll("button, input, select, textarea").forEach((each) => each.setAttribute("disabled", ""));
  const policy = document.createElement("meta");
  policy.setAttribute("http-equiv", "Content-Security-Policy");
  policy.setAttribute("content", "default-src 'none'; style-src 'unsafe-inline'; img-src data:");
  const style = document.createElement("style");
  style.textContent = sheets.join("\n");
  page.querySelector("head").append(policy, style);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`<!doctype html>\n${page.outerHTML}`], { type: "text/html" }));
  link.download = `${document.title.replace(/[^\w.-]+/g, "-")}.html`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const LONGEST = 400; // characters of a line that are shown; all of them are copied

// The same in Python and on the command line.
export function Copy({ lines }) {
  const [copied, setCopied] = useState("");
  if (!lines) return null;
  const copy = async (name) => {
    try {
      await navigator.clipboard.writeText(lines[name]);
    } catch {
      const area = document.createElement("textarea");
      area.value = lines[name];
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    setCopied(name);
    setTimeout(() => setCopied(""), 1500);
  };
  const line = (name, title) => lines[name] && html`<div class="copied">
      <button onClick=${() => copy(name)} aria-label=${`Copy as ${title}`}>${copied === name ? "copied" : `Copy as ${title}`}</button>
      <code>${lines[name].length > LONGEST ? `${lines[name].slice(0, LONGEST)} …` : lines[name]}</code></div>`;
  return html`<div class="copy only-live">${line("python", "Python")}${line("cli", "command")}</div>`;
}

// A table whose cells are written already, with intervals on one scale where it has some.
export function Content({ table }) {
  const ends = (table.drawing?.cells ?? []).flat().filter(Number.isFinite), low = Math.min(...ends), span = Math.max(...ends) - low || 1;
  const at = (x) => (100 * (x - low)) / span;
  const drawn = table.drawing?.kind === "intervals" ? table.drawing.cells : null;
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="content"><thead><tr>${table.headers.map((name, j) => (name ? html`<th scope="col" key=${j} class=${table.left[j] ? "left" : ""}><bdi>${name}</bdi></th>` : html`<td key=${j}></td>`))}${drawn && html`<th scope="col"><span class="unseen">interval</span></th>`}</tr></thead>
    <tbody>${table.rows.map((row, i) => html`<tr key=${i}>${row.map((cell, j) => html`<td key=${j} class=${table.left[j] ? "left" : ""}><bdi>${cell}</bdi></td>`)}
      ${drawn && html`<td class="interval-cell"><span class="interval"><i style=${{ left: `${at(drawn[i][1])}%`, width: `${Math.max(0.5, at(drawn[i][2]) - at(drawn[i][1]))}%` }}></i><b style=${{ left: `${at(drawn[i][0])}%` }}></b></span></td>`}</tr>`)}</tbody></table></div>`;
}

// Figures with bars to both sides of 0.
export function Diverging({ rows, head, foot, caption, note }) {
  const most = Math.max(1e-9, ...rows.map((row) => (Number.isFinite(row.size) ? Math.abs(row.size) : 0)));
  return html`<table class="waterfall">
    ${caption && html`<caption>${caption}</caption>`}
    <thead><tr><th scope="col">${head[0]}</th><th scope="col">${head[1]}</th><th scope="col"><span class="unseen">bar</span></th></tr></thead>
    <tbody>${rows.map((row, i) => html`<tr key=${i}>
      <th scope="row"><bdi>${row.name}</bdi>${row.value == null || row.value === "" ? "" : html`${/^[<>]/.test(row.value) ? " " : " = "}<bdi>${row.value}</bdi>`}</th>
      <td>${row.figure}</td>
      <td class="diverging"><span class=${row.size < 0 ? "minus" : "plus"} style=${{ width: `${Math.min(50, (50 * Math.abs(row.size)) / most)}%` }}></span></td>
    </tr>`)}</tbody>
    <tfoot>${note && html`<tr><td colspan="3" class="faint left">${note}</td></tr>`}${foot && html`<tr><th scope="row">${foot[0]}</th><td>${foot[1]}</td><td></td></tr>`}</tfoot>
  </table>`;
}

const LONGEST_VALUE = 48; // characters of a cell in a waterfall: a text is longer

// prior + weights of evidence = log-odds.
export function Waterfall({ found, unit = "nats" }) {
  if (!found) return null;
  const missing = found.weights.filter((row) => row.value === null && !Number(row.weight)).length;
  const cut = (value) => (String(value).length > LONGEST_VALUE ? `${String(value).slice(0, LONGEST_VALUE)} …` : value);
  const known = [{ name: "prior", value: null, weight: found.prior }, ...found.weights.filter((row) => row.value !== null || Number(row.weight))];
  const rows = known.map((row) => ({ name: row.name, value: row.value == null ? null : cut(row.value), figure: signed(row.weight), size: Number(row.weight) }));
  return html`<${Diverging} rows=${rows} head=${["finding", `weight, ${unit}`]} foot=${["log-odds", signed(found.log_odds)]}
    caption=${`${found.against ? `${found.of} against ${found.against}` : found.of}: P = ${percent(found.probability)}`}
    note=${missing > 0 && `${missing} missing ${missing === 1 ? "cell" : "cells"}`} />`;
}

// As many digits as a step of a slider needs.
const rounded = (x, step) => Number(x.toFixed(Math.min(20, Math.max(0, Math.ceil(-Math.log10(step))))));

// A column's cell: a choice, a date, or a number with a slider over the column's densities.
export function Cell({ column, value, set, classes = [], chosen, choose }) {
  const id = `cell-${column.name}`, ends = column.range && (column.whole ? [Math.ceil(column.range[0]), Math.floor(column.range[1])] : column.range), step = ends && (column.whole ? 1 : (ends[1] - ends[0]) / 200);
  const control = column.kind === "category"
    ? html`<select id=${id} value=${value ?? ""} onChange=${(event) => set(column.name, event.target.value)}>
        <option value="">(missing)</option>${(column.values ?? []).map((each) => html`<option key=${String(each)} value=${each}>${String(each)}</option>`)}</select>`
    : column.kind === "date"
      ? html`<${Typed} id=${id} type="date" value=${value ?? ""} settle=${(text) => set(column.name, text)} />`
      : column.kind === "text" ? html`<input id=${id} value=${value ?? ""} placeholder="missing" onInput=${(event) => set(column.name, event.target.value, true)} />`
      : html`<${Typed} id=${id} type="number" step="any" value=${value ?? ""} placeholder="missing"
          read=${(text) => set(column.name, text === "" ? "" : Number(text), true)} />
        ${ends && html`<input type="range" class=${value == null ? "missing" : ""} aria-label=${`${column.name}, slider`} min=${ends[0]} max=${ends[1]} step=${step}
          value=${value ?? (ends[0] + ends[1]) / 2} onInput=${(event) => set(column.name, rounded(Number(event.target.value), step), true)} />`}`;
  return html`<div class=${`cell ${chosen ? "chosen" : ""}`}><label for=${id} title=${column.name}><bdi>${column.name}</bdi></label>${control}
    ${column.density && column.density.form !== "category" && html`<${Lines} x=${column.density.places} ys=${column.density.heights} names=${classes} at=${column.kind === "date" ? dayOf(value) : value} dates=${column.kind === "date"} steps=${column.density.form === "bins"} small=${true} />`}
    ${choose && html`<button class="what-if only-live" aria-pressed=${chosen} onClick=${choose}>what if</button>`}</div>`;
}

// Runs work after the user pauses, and drops answers that come too late. A layout effect asks at once: others wait for
// the next frame.
export function useAnswer(work, inputs, pause = 0) {
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  const latest = useRef(0);
  useLayoutEffect(() => {
    const own = ++latest.current;
    const stopped = new AbortController();
    const run = async () => {
      try {
        const answer = await work(stopped.signal);
        if (own === latest.current) (setFound(answer), setProblem(null));
      } catch (error) {
        if (own === latest.current && error.name !== "AbortError") setProblem(error.message);
      }
    };
    const timer = pause ? setTimeout(run, pause) : (run(), 0);
    return () => (clearTimeout(timer), stopped.abort());
  }, inputs);
  return [found, problem];
}
