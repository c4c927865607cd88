// What the user chose, in the part of the address after #: a link or a reload restores the screen.
export function stateOfAddress() {
  try {
    const found = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

export function toAddress(state, passing) {
  const kept = Object.fromEntries(Object.entries(state).filter(([, value]) => value != null));
  const address = Object.keys(kept).length ? `#${encodeURIComponent(JSON.stringify(kept))}` : location.pathname + location.search;
  if (passing) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
}
