// What the user chose, in the part of the address after #: a link or a reload restores the screen.
export function stateOfAddress() {
  try {
    const found = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

const PAUSE = 120; // milliseconds: while something is dragged or typed, the address follows when it rests
let waiting = 0;

export function toAddress(state, passing) {
  clearTimeout(waiting);
  if (passing) waiting = setTimeout(() => written(state, true), PAUSE);
  else written(state, false);
}

function written(state, passing) {
  const kept = Object.fromEntries(Object.entries(state).filter(([, value]) => value != null));
  const address = Object.keys(kept).length ? `#${encodeURIComponent(JSON.stringify(kept))}` : location.pathname + location.search;
  if (passing) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
}
