// Parts that all screens share.
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";

export const percent = (p) => (p > 0 && p < 0.0005 ? "<0.1%" : p < 1 && p > 0.9995 ? ">99.9%" : `${(100 * p).toFixed(1)}%`);
export const signed = (x) =>
  x === "Infinity" || x === Infinity ? "+∞" : x === "-Infinity" || x === -Infinity ? "−∞" : (x < 0 ? "−" : "+") + Math.abs(x).toFixed(3);

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

// One file without scripts: what the page shows now.
async function exportPage() {
  const sheets = await Promise.all(["credo.css", "explorer.css"].map(async (name) => (await fetch(`/static/${name}`)).text()));
  const page = document.documentElement.cloneNode(true);
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
      <code>${lines[name]}</code></div>`;
  return html`<div class="copy only-live">${line("python", "Python")}${line("cli", "command")}</div>`;
}

// prior + weights of evidence = log-odds, as bars to both sides of 0.
export function Waterfall({ found, unit = "nats" }) {
  if (!found) return null;
  const missing = found.weights.filter((row) => row.value === null && !Number(row.weight)).length;
  const rows = [{ name: "prior", value: null, weight: found.prior }, ...found.weights.filter((row) => row.value !== null || Number(row.weight))];
  const size = (x) => (Number.isFinite(Number(x)) ? Math.abs(Number(x)) : 0);
  const most = Math.max(1e-9, ...rows.map((row) => size(row.weight)));
  return html`<table class="waterfall">
    <caption>${found.against ? `${found.of} against ${found.against}` : found.of}: P = ${percent(found.probability)}</caption>
    <thead><tr><th scope="col">finding</th><th scope="col">weight, ${unit}</th><th scope="col"><span class="unseen">bar</span></th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.name}>
      <th scope="row"><bdi>${row.name}</bdi>${row.value == null || row.value === "" ? "" : html` = <bdi>${row.value}</bdi>`}</th>
      <td>${signed(row.weight)}</td>
      <td class="diverging"><span class=${Number(row.weight) < 0 ? "minus" : "plus"} style=${{ width: `${(50 * (row.weight === "Infinity" || row.weight === "-Infinity" ? most : size(row.weight))) / most}%` }}></span></td>
    </tr>`)}</tbody>
    <tfoot>${missing > 0 && html`<tr><td colspan="3" class="faint left">${missing} missing ${missing === 1 ? "cell" : "cells"}</td></tr>`}<tr><th scope="row">log-odds</th><td>${signed(found.log_odds)}</td><td></td></tr></tfoot>
  </table>`;
}

// Runs work after the user pauses, and drops answers that come too late.
export function useAnswer(work, inputs, pause = 0) {
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  const latest = useRef(0);
  useEffect(() => {
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
