// The page: fetches the model once, keeps what the user chose in the address, and shows the screen of the model's kind.
import { html, render, useCallback, useEffect, useState } from "./vendor/preact-htm.js";
import { ask, opened } from "./server.js";
import { stateOfAddress, toAddress } from "./address.js";
import { Problem, Shell } from "./parts.js";

const SCREENS = { network: "./network.js", row: "./row.js", belief: "./belief.js", groups: "./groups.js" };

function App() {
  const [model, setModel] = useState(null);
  const [Screen, setScreen] = useState(null);
  const [problem, setProblem] = useState(null);
  const [state, setState] = useState(stateOfAddress);

  useEffect(() => {
    opened()
      .then(async (found) => {
        const module = await import(SCREENS[found.kind]);
        document.title = `${found.title} · credo`;
        setScreen(() => module.Screen);
        setModel(found);
      })
      .catch((error) => setProblem(error.message));
    const back = () => setState(stateOfAddress());
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);

  const change = useCallback((part, { passing = false } = {}) => {
    setState((before) => {
      const after = { ...before, ...part };
      toAddress(after, passing);
      return after;
    });
  }, []);

  if (problem) return html`<${Problem} text=${problem} />`;
  if (!model) return html`<p class="faint" role="status">Loading …</p>`;
  return html`<${Shell} model=${model}>
    <${Screen} model=${model} state=${state} change=${change} ask=${ask} />
  <//>`;
}

render(html`<${App} />`, document.getElementById("app"));
