// What the user chose, in the part of the address after #: a link or a reload restores the screen.
export function stateOfAddress() {
  try {
    const found = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

// Milliseconds: while something is dragged or typed, the address follows when it rests. Browsers take tens of milliseconds
// for the address of a long text, which a keystroke shouldn't wait for.
const PAUSE = 400;
let waiting = 0, resting = null;

export function toAddress(state, passing) {
  clearTimeout(waiting);
  resting = passing ? state : null;
  if (passing) waiting = setTimeout(rested, PAUSE);
  else written(state, false);
}

function rested() {
  clearTimeout(waiting);
  if (resting) written(resting, true);
  resting = null;
}
addEventListener("pagehide", rested);

function written(state, passing) {
  const kept = Object.fromEntries(Object.entries(state).filter(([, value]) => value != null));
  const address = Object.keys(kept).length ? `#${encodeURIComponent(JSON.stringify(kept))}` : location.pathname + location.search;
  if (passing) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
}
