// The page: lists the model's screens, keeps what the user chose in the address, and shows the chosen screen.
import { html, render, useCallback, useEffect, useState } from "./vendor/preact-htm.js";
import { ask, opened } from "./server.js";
import { stateOfAddress, toAddress } from "./address.js";
import { Problem, Shell } from "./parts.js";

const SCREENS = { network: "./network.js", slices: "./slices.js", decisions: "./decisions.js", row: "./row.js", trust: "./trust.js", belief: "./belief.js", groups: "./groups.js", regression: "./regression.js", clusters: "./clusters.js", sequence: "./sequence.js", table: "./table.js" };

function App() {
  const [subject, setSubject] = useState(null);
  const [problem, setProblem] = useState(null);
  const [state, setState] = useState(stateOfAddress);
  useEffect(() => {
    opened()
      .then((found) => ((document.title = `${found.title} · credo`), setSubject(found)))
      .catch((error) => setProblem(error.message));
    const back = () => setState(stateOfAddress());
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);

  const put = useCallback((part, passing) => {
    setState((before) => {
      const after = { ...before, ...part };
      toAddress(after, passing);
      return after;
    });
  }, []);

  if (problem) return html`<${Problem} text=${problem} />`;
  if (!subject) return html`<p class="faint" role="status">Loading …</p>`;
  const kinds = subject.screens.map((each) => each.kind);
  const kind = kinds.includes(state.screen) ? state.screen : kinds[0];
  return html`<${Shell} subject=${subject} kind=${kind} choose=${(other) => put({ screen: other === kinds[0] ? null : other }, false)}>
    <${Shown} key=${kind} kind=${kind} state=${state[kind] ?? {}} put=${put} />
  <//>`;
}

// One screen: its part of the address is under its kind.
function Shown({ kind, state, put }) {
  const [model, setModel] = useState(null);
  const [Screen, setScreen] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    Promise.all([opened(kind), import(SCREENS[kind])])
      .then(([found, module]) => (setScreen(() => module.Screen), setModel(found)))
      .catch((error) => setProblem(error.message));
  }, [kind]);
  const change = (part, { passing = false } = {}) => {
    const after = Object.fromEntries(Object.entries({ ...state, ...part }).filter(([, value]) => value != null));
    put({ [kind]: Object.keys(after).length ? after : null }, passing);
  };
  if (problem) return html`<${Problem} text=${problem} />`;
  if (!model) return html`<p class="faint" role="status">Loading …</p>`;
  return html`<${Screen} model=${model} state=${state} change=${change} ask=${(action, asked, signal) => ask(kind, action, asked, signal)} />`;
}

render(html`<${App} />`, document.getElementById("app"));
