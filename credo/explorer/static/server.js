// Requests to the server, with the token of this page's address.
const token = new URLSearchParams(location.search).get("token") ?? "";

async function answer(response) {
  const text = await response.text();
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error(text.trim() || `the server answered ${response.status}`);
  }
  if (!response.ok) throw new Error(found.error);
  return found;
}

export async function opened(kind) {
  return answer(await fetch(kind ? `/api/${kind}/opened` : "/api/opened", { headers: { "X-Credo-Token": token } }));
}

export async function ask(kind, action, asked, signal) {
  const headers = { "X-Credo-Token": token, "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(`/api/${kind}/${action}`, { method: "POST", headers, body: JSON.stringify(asked), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server has stopped. What you chose is in this page's address: start it again and reload.");
  }
  return answer(response);
}
