// Requests to the service, and its errors.

const KEY_STORE = "nlgauge-key";

// An RFC 9457 problem of the service; `kind` is the last part of its type.
class Problem extends Error {
  constructor(record, status) {
    super(record.detail || record.title || `The service answered with status ${status}.`);
    this.status = status;
    this.kind = String(record.type ?? "").replace("urn:nlgauge:problem:", "");
    this.errors = Array.isArray(record.errors) ? record.errors : [];
    this.retryAfter = 0;
  }
}

// No answer: the service or the network is down.
class ConnectionLost extends Error {}

// Stored for this tab only.
const apiKey = {
  get: () => {
    try {
      return sessionStorage.getItem(KEY_STORE) ?? "";
    } catch {
      return "";
    }
  },
  set: (key) => {
    try {
      sessionStorage.setItem(KEY_STORE, key);
    } catch {
      /* no storage: the key must be entered again after a reload */
    }
  },
};

// Send a request; throws a Problem or ConnectionLost. Addresses are relative, for services behind a path.
async function ask(path, { body, method = body === undefined ? "GET" : "POST", signal } = {}) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (apiKey.get()) headers["X-API-Key"] = apiKey.get();
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ConnectionLost("The service does not answer.");
  }
  if (answer.ok) return answer;
  const problem = new Problem(await answer.json().catch(() => ({})), answer.status);
  problem.retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  throw problem;
}

// The answer as text; throws ConnectionLost also if the connection breaks in the middle.
async function askText(path, options) {
  const answer = await ask(path, options);
  try {
    return await answer.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ConnectionLost("The connection to the service was lost.");
  }
}

const askJson = async (path, options) => JSON.parse(await askText(path, options));

const pause = (milliseconds) => new Promise((resume) => setTimeout(resume, milliseconds));
