// Keeps what a reader has fetched: Python at once, pages as they were last seen, so that a second visit works without a network.
const KEPT = "naive_graph pages";
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const { request } = event, isOurs = new URL(request.url).origin === location.origin && request.method === "GET";
  if (!isOurs) return;
  const isLarge = /\/(pyodide|codemirror)\//.test(request.url);  // which never changes under its name
  event.respondWith((async () => {
    const cache = await caches.open(KEPT), known = await cache.match(request);
    if (isLarge && known) return known;
    try {
      const answer = await fetch(request);
      if (answer.ok) cache.put(request, answer.clone());
      return answer;
    } catch (error) {
      if (known) return known;
      throw error;
    }
  })());
});
