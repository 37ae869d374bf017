// What the page asks the server, and what it makes of the answers.

const TOKEN = "cait-token";  // in the memory of this tab, which forgets it when it is closed

// The server refused, in its own words.
export class Refused extends Error {}
// It wants to see a token, or another one.
export class Locked extends Error {}
// Nobody answered.
export class Away extends Error {}

// Throws Locked for what cannot be one.
export function useToken(token) {
  if (!/^[!-~]+$/.test(token)) throw new Locked("A token has visible characters only.");
  sessionStorage.setItem(TOKEN, token);
}

async function answered(path, options = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", ...options, headers });
  } catch (problem) {
    if (options.signal?.aborted) throw problem;  // nobody wants the answer any more
    throw new Away("The server does not answer.");
  }
  if (answer.ok) return answer;
  if (answer.status === 401) {
    sessionStorage.removeItem(TOKEN);
    throw new Locked(token ? "The server does not take this token." : "");
  }
  let words = `The server answered ${answer.status}.`;
  try {
    words = (await answer.json()).error || words;
  } catch { /* not JSON: the status has to do */ }
  throw new Refused(words);
}

const ask = async (path, options) => (await answered(path, options)).json();

// {ready, pending, search, models: [{name, task, attention_layers, images_per_second, latency_ms, …}]}
export function statistics() {
  return ask("stats");
}

// {heat, saliency}: 256 colours [red, green, blue] each.
export function colours() {
  return ask("colours.json");
}

// {answers: [{label, score}], attention: {usual, layers, …}}: attention is null where the model has none.
export async function classify(model, file, top) {
  const query = new URLSearchParams({ model: model.name, top });
  if (model.attention_layers > 0) {
    query.set("attention", 1);
    return ask(`classify?${query}`, { method: "POST", body: file });
  }
  const reply = await ask(`classify?${query}`, { method: "POST", body: file });
  return { answers: reply.answers ?? reply, attention: null };  // a bare list where there is nothing else
}

// {width, height, png, areas: [{label, index, pixels, share, colour}]}, the largest area first.
export function segment(model, file) {
  const query = new URLSearchParams({ model: model.name, as: "json" });
  return ask(`segment?${query}`, { method: "POST", body: file });
}

// {width, height, objects: [{label, index, score, box, colour, mask}]}, the likeliest first: all that there are, so that
// nobody needs to ask again for less.
export function detect(model, file) {
  const query = new URLSearchParams({ model: model.name, as: "json", threshold: 0.05 });
  return ask(`detect?${query}`, { method: "POST", body: file });
}

// {pieces, source, target, translations: [{text, score, pieces, attention, source_pieces, others}]}, in the order of the
// lines.
export function translate(model, { lines, best }, signal) {
  const query = new URLSearchParams({ model: model.name });
  const body = JSON.stringify({ text: lines, best, beam: Math.max(4, best), attention: true });
  return ask(`translate?${query}`, { method: "POST", body, signal, headers: { "Content-Type": "application/json" } });
}

// [{name, similarity, labels, picture}]: picture is the path of one where the server shows them.
export async function similar(file) {
  return (await ask("search", { method: "POST", body: file })).found;
}

export async function picture(path) {
  return (await answered(path.replace(/^\//, ""))).blob();
}
