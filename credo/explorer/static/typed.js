// An input whose text is its own while it is being typed: neither an answer that arrives nor the number read so far
// ("0.0" is 0) replaces it. `read` hears each keystroke, `settle` the text when it is left or entered.
import { html, useState } from "./vendor/preact-htm.js";

export function Typed({ value, read, settle, ...rest }) {
  const [typing, setTyping] = useState(null);
  const typed = (event) => (setTyping(event.target.value), read?.(event.target.value));
  const settled = (event) => (setTyping(null), settle?.(event.target.value));
  return html`<input ...${rest} value=${typing ?? value} onInput=${typed} onChange=${settled} onBlur=${() => setTyping(null)} />`;
}
